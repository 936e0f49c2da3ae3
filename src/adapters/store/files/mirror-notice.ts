/** What the mirror reports to a person: a file was not as expected, and what was done about it. */
export type MirrorNotice =
  | { readonly kind: "torn-line"; readonly file: string; readonly bytes: number }
  | {
      readonly kind: "orphaned-lines";
      readonly file: string;
      readonly aside: string;
      readonly line: number;
      readonly bytes: number;
    }
  /** Bytes after the counted ones of a `.bak`. */
  | { readonly kind: "orphaned-archive"; readonly file: string; readonly aside: string; readonly bytes: number }
  | { readonly kind: "unusable-archive"; readonly file: string; readonly archive: string; readonly aside: string }
  | { readonly kind: "orphaned-agent"; readonly file: string; readonly aside: string }
  | { readonly kind: "other-database"; readonly synced: number; readonly last: number }
  | { readonly kind: "unwritable-agent"; readonly agent: string; readonly reason: string };

/** One sentence per notice, for the log. */
export function noticeText(notice: MirrorNotice): string {
  switch (notice.kind) {
    case "torn-line":
      return `The last line of ${notice.file} was torn (${notice.bytes} bytes). It was cut off, kept in ${notice.file}.torn, and written again.`;
    case "orphaned-lines":
      return `${notice.file} has lines from line ${notice.line} on that the database does not have. They were moved to ${notice.aside}.`;
    case "orphaned-archive":
      return `${notice.file} has ${notice.bytes} bytes that no history counts. They were moved to ${notice.aside}.`;
    case "unusable-archive":
      return `${notice.archive} lacks lines that the database has before those in ${notice.file}, or has others. The whole history was written to ${notice.file} again, and the file before is kept in ${notice.aside}.`;
    case "orphaned-agent":
      return `The database does not know the agent in ${notice.file}. Its files were moved to ${notice.aside}.`;
    case "other-database":
      return `The database ends at change ${notice.last}; the plain files were written up to change ${notice.synced} of another or a newer one. What the database does not have is moved aside.`;
    case "unwritable-agent":
      return `The agent ${notice.agent} cannot be written to plain files: ${notice.reason}`;
  }
}
