/** Lines in a frame. */
import { visibleWidth } from "@earendil-works/pi-tui";
import { fitted } from "./render-block.ts";

export function boxed(lines: readonly string[], width: number, paint: (frame: string) => string, title = ""): string[] {
  const inner = Math.max(1, width - 4);
  const bar = paint("│");
  const head = title === "" ? "" : ` ${title} `;
  const top = paint(`╭${head}${"─".repeat(Math.max(0, width - 2 - head.length))}╮`);
  const bottom = paint(`╰${"─".repeat(Math.max(0, width - 2))}╯`);
  const padded = lines.map((one) => {
    const cut = fitted(one, inner);
    return `${bar} ${cut}${" ".repeat(Math.max(0, inner - visibleWidth(cut)))} ${bar}`;
  });
  return [fitted(top, width), ...padded, fitted(bottom, width)];
}
