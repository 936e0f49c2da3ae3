/** The whole page: the sign-in, or the frame with the current view. Views are loaded when they are first shown. */
import { Component } from "preact";
import { useEffect } from "preact/hooks";
import { useBadges } from "./badges.ts";
import { followServer } from "./live.ts";
import { linkTo, route } from "./router.ts";
import { session } from "./session.ts";
import { t } from "./texts.ts";
import { Keys } from "./ui/keys.tsx";
import { LazyView, type Loader, preload } from "./ui/lazy-view.tsx";
import { Empty, Problem } from "./ui/parts.tsx";
import { Shell, titleOf } from "./ui/shell.tsx";
import { Toasts } from "./ui/toast.tsx";
import { Now } from "./views/now.tsx";
import { SignIn } from "./views/sign-in.tsx";

/** Loaded when they are first shown. The one that the address names is loaded while the page signs in. */
const LOADERS: Readonly<Record<string, Loader>> = {
  conversations: async () => (await import("./views/conversations.tsx")).Conversations,
  approvals: async () => (await import("./views/approvals.tsx")).Approvals,
  inbox: async () => (await import("./views/inbox.tsx")).Inbox,
  outbox: async () => (await import("./views/outbox.tsx")).Outbox,
  agents: async () => (await import("./views/agents.tsx")).Agents,
  runs: async () => (await import("./views/run.tsx")).Run,
  schedules: async () => (await import("./views/schedules.tsx")).Schedules,
  memory: async () => (await import("./views/memory.tsx")).Memory,
  spend: async () => (await import("./views/spend.tsx")).Spend,
  people: async () => (await import("./views/people.tsx")).People,
  health: async () => (await import("./views/health.tsx")).HealthView,
};

preload(LOADERS[route.peek().view]);

export function App() {
  if (session.value.state !== "in") {
    return (
      <>
        <SignIn />
        <Toasts />
      </>
    );
  }
  return <SignedIn />;
}

function SignedIn() {
  useEffect(followServer, []);
  useBadges();
  const { view, id } = route.value;
  const load = LOADERS[view];
  useEffect(() => {
    document.title = `${titleOf(view)} · ${t.name}`;
    if (id === undefined) document.getElementById("main")?.scrollTo(0, 0);
  }, [view, id]);
  return (
    <Shell>
      <Keys />
      <Guard key={view}>{load ? <LazyView load={load} /> : view === "now" ? <Now /> : <NoView />}</Guard>
      <Toasts />
    </Shell>
  );
}

const NoView = () => (
  <Empty icon="alert" title={t.common.noViewTitle}>
    <p>{t.common.noViewText}</p>
    <a class="button primary" href={linkTo("now")}>
      {t.common.toNow}
    </a>
  </Empty>
);

/** A view that fails does not take the others with it. */
class Guard extends Component<{ children: preact.ComponentChildren }, { error?: unknown }> {
  override state: { error?: unknown } = {};

  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  render() {
    const { error } = this.state;
    return error === undefined ? (
      this.props.children
    ) : (
      <Problem error={error} retry={() => this.setState({ error: undefined })} />
    );
  }
}
