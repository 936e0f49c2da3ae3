/** Light or dark: what the system says, unless the person has chosen. */
import { signal } from "@preact/signals";

const KEY = "rookery-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = localStorage.getItem(KEY);

export const isDark = signal(chosen === null ? system.matches : chosen === "dark");

const apply = (): void => {
  document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
};
apply();

system.addEventListener("change", () => {
  if (localStorage.getItem(KEY) !== null) return;
  isDark.value = system.matches;
  apply();
});

export function toggleTheme(): void {
  isDark.value = !isDark.value;
  localStorage.setItem(KEY, isDark.value ? "dark" : "light");
  apply();
}
