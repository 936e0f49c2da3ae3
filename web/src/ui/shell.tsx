/** The frame around every view: navigation, connection, theme. On a phone the navigation is a drawer and a bar at the bottom. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { connection } from "../live.ts";
import { linkTo, route } from "../router.ts";
import { currentMe, signOut } from "../session.ts";
import { t } from "../texts.ts";
import { Icon, type IconName } from "./icons.tsx";
import { Button } from "./parts.tsx";
import { isDark, toggleTheme } from "./theme.ts";

export type ViewName = Exclude<
  keyof typeof t.nav,
  "label" | "menu" | "more" | "signOut" | "light" | "dark" | "keys" | "short"
>;

interface NavItem {
  readonly view: ViewName;
  readonly icon: IconName;
  /** Pressed after `g`. */
  readonly letter: string;
  /** Also for people who are not the owner. */
  readonly guest?: true;
}

export const NAV: readonly (readonly NavItem[])[] = [
  [
    { view: "now", icon: "now", letter: "n", guest: true },
    { view: "conversations", icon: "chat", letter: "c", guest: true },
    { view: "approvals", icon: "shield", letter: "a", guest: true },
  ],
  [
    { view: "inbox", icon: "inbox", letter: "i", guest: true },
    { view: "outbox", icon: "outbox", letter: "o" },
    { view: "agents", icon: "agents", letter: "t" },
    { view: "schedules", icon: "clock", letter: "s", guest: true },
    { view: "memory", icon: "memory", letter: "m", guest: true },
  ],
  [
    { view: "spend", icon: "spend", letter: "d", guest: true },
    { view: "people", icon: "people", letter: "p", guest: true },
    { view: "health", icon: "health", letter: "h" },
  ],
];

/** How many things wait for a person, by view. */
export const badges = signal<Partial<Record<ViewName, number>>>({});
const isMenuOpen = signal(false);

export const mayOpen = ({ guest }: NavItem): boolean => currentMe().isOwner || guest === true;

function NavLink({ view, icon, short }: NavItem & { short?: boolean }) {
  const isCurrent = route.value.view === view || (view === "agents" && route.value.view === "runs");
  const n = badges.value[view] ?? 0;
  return (
    <a
      class="nav-link"
      href={linkTo(view)}
      aria-current={isCurrent ? "page" : undefined}
      onClick={() => {
        isMenuOpen.value = false;
      }}
    >
      <Icon name={icon} />
      <span>{(short && t.nav.short[view]) || t.nav[view]}</span>
      {n > 0 && <span class="nav-count">{n > 99 ? "99+" : n}</span>}
    </a>
  );
}

export function Shell({ children }: { children: ComponentChildren }) {
  const me = currentMe();
  const state = connection.value;
  const title = titleOf(route.value.view);
  return (
    <div class={`shell ${isMenuOpen.value ? "menu-open" : ""}`}>
      <button type="button" class="skip" onClick={skipToMain}>
        {t.common.skip}
      </button>
      <header class="topbar">
        <button
          type="button"
          class="button quiet only-icon"
          aria-label={t.nav.menu}
          aria-expanded={isMenuOpen.value}
          onClick={toggleMenu}
        >
          <Icon name="menu" />
        </button>
        <span class="topbar-title">{title}</span>
        <Dot state={state} />
      </header>
      <nav class="sidebar" aria-label={t.nav.label}>
        <div class="brand">
          <Mark />
          <span>{t.name}</span>
        </div>
        {NAV.map((group, n) => (
          <div class="nav-group" key={n}>
            {group.filter(mayOpen).map((item) => (
              <NavLink key={item.view} {...item} />
            ))}
          </div>
        ))}
        <div class="sidebar-foot">
          <div class="connection" role="status">
            <Dot state={state} />
            <span>{t.connection[state]}</span>
          </div>
          <div class="who">
            <span class="who-name" title={me.version}>
              {me.name}
            </span>
            <Button
              kind="quiet"
              icon={isDark.value ? "sun" : "moon"}
              label={isDark.value ? t.nav.light : t.nav.dark}
              onClick={toggleTheme}
            />
            <Button kind="quiet" icon="out" label={t.nav.signOut} onClick={signOut} />
          </div>
        </div>
      </nav>
      <button type="button" class="scrim" aria-label={t.common.close} tabIndex={-1} onClick={toggleMenu} />
      <main id="main" class="main" tabIndex={-1}>
        {state === "lost" && (
          <p class="banner" role="alert">
            <Icon name="alert" /> {t.connection.lostBanner}
          </p>
        )}
        {children}
      </main>
      <nav class="bottombar" aria-label={t.nav.menu}>
        {NAV.flat()
          .filter(mayOpen)
          .slice(0, 4)
          .map((item) => (
            <NavLink key={item.view} {...item} short />
          ))}
        <button type="button" class="nav-link" aria-expanded={isMenuOpen.value} onClick={toggleMenu}>
          <Icon name="menu" />
          <span>{t.nav.more}</span>
        </button>
      </nav>
    </div>
  );
}

/** A run has no place in the navigation. */
export const titleOf = (view: string): string => (view === "runs" ? t.run.title : (t.nav[view as ViewName] ?? t.name));

const toggleMenu = (): void => {
  isMenuOpen.value = !isMenuOpen.value;
};

/** The fragment of the address names the view, so a link cannot name the content. */
function skipToMain(): void {
  document.getElementById("main")?.focus();
}

const Dot = ({ state }: { state: string }) => <span class={`dot ${state}`} aria-hidden="true" />;

export const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
    <rect width="32" height="32" rx="8" class="mark-ground" />
    <path d="M7 20c3-1 5-3 6-6 1-4 4-6 8-5l4 2-3 1c0 6-4 10-10 10-2 0-4-.7-5-2z" class="mark-bird" />
  </svg>
);
