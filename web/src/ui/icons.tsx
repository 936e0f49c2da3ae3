/** Icons as lines of one width. They never carry meaning alone: each is next to a text or has a label. */
const PATHS = {
  now: "M13 2 4 14h7l-1 8 9-12h-7z",
  chat: "M21 12a8 8 0 0 1-8 8H4l2-3a8 8 0 1 1 15-5z",
  check: "m5 12 5 5L20 7",
  shield: "M12 3 4 6v6c0 5 3.5 8 8 9 4.5-1 8-4 8-9V6z",
  inbox: "M4 4h16v16H4zM4 13h5l1.5 3h3L15 13h5",
  outbox: "M4 12v8h16v-8M12 15V3m0 0L7.5 7.5M12 3l4.5 4.5",
  agents:
    "M12 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zm0 0v5m0 0H5v3m7-3h7v3M5 22a3 3 0 1 0 0-6 3 3 0 0 0 0 6zm14 0a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zm0-14v5l3.5 2",
  memory: "M5 4h11l3 3v13H5zM8 4v5h7V4M8 20v-6h8v6",
  spend: "M4 20V10m5 10V4m6 16v-7m5 7V7",
  people: "M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zm-7 10a7 7 0 0 1 14 0m0-18a4 4 0 0 1 0 8m6 10a7 7 0 0 0-4-6.3",
  health: "M3 12h4l3-8 4 16 3-8h4",
  send: "M4 12 20 4l-5 16-3.5-6.5z",
  stop: "M6 6h12v12H6z",
  alert: "M12 3 2 20h20zM12 10v4m0 3v.5",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zm5-2 5 5",
  plus: "M12 5v14M5 12h14",
  x: "M6 6l12 12M18 6 6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  retry: "M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  branch: "M6 3v12m0 0a3 3 0 1 0 0 6 3 3 0 0 0 0-6zm12-6a3 3 0 1 0 0-6 3 3 0 0 0 0 6zm0 0c0 5-6 4-11 6",
  file: "M6 2h8l5 5v15H6zM14 2v5h5",
  tool: "M14 6a4 4 0 0 0 5 5l-9 9-4-4 9-9a4 4 0 0 0-1-1zM14 6l3-3",
  play: "M7 4v16l13-8z",
  moon: "M20 14A8 8 0 1 1 10 4a7 7 0 0 0 10 10z",
  sun: "M12 17a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM12 1v3m0 16v3M4.2 4.2l2 2m11.6 11.6 2 2M1 12h3m16 0h3M4.2 19.8l2-2M17.8 6.2l2-2",
  back: "M19 12H5m0 0 6-6m-6 6 6 6",
  out: "M15 4h4v16h-4M10 8l-4 4 4 4m-4-4h10",
  down: "m6 9 6 6 6-6",
  trash: "M5 7h14M10 3h4M7 7l1 14h8l1-14",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.8"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
