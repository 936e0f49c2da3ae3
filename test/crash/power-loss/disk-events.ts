/** Converts system calls into disk events: changes of names, file data, flushes, and printed promises. */
import { dirname } from "node:path";
import { descriptorIn, lastNumberIn, type SystemCall, stringsIn } from "./system-calls.ts";

interface At {
  readonly begun: number;
  readonly ended: number;
}

/** A change of a folder. `file` is the file's number: a name may change, the data goes with the number. */
export type NameEvent = At &
  (
    | { readonly what: "create"; readonly path: string; readonly file: number }
    | { readonly what: "folder"; readonly path: string }
    | { readonly what: "rename"; readonly path: string; readonly to: string }
    | { readonly what: "remove"; readonly path: string }
  );
export type DataEvent = At &
  (
    | { readonly what: "write"; readonly file: number; readonly offset: number; readonly data: Buffer }
    | { readonly what: "truncate"; readonly file: number; readonly size: number }
  );
export interface SyncEvent extends At {
  /** A file's number, or a folder's path. */
  readonly of: number | string;
}

export interface DiskEvents {
  readonly names: readonly NameEvent[];
  readonly data: readonly DataEvent[];
  readonly syncs: readonly SyncEvent[];
  /** A text on standard output, and the line at which its write returned. */
  readonly said: readonly { readonly text: string; readonly ended: number }[];
  readonly last: number;
}

interface OpenFile {
  readonly of: number | string;
  readonly append: boolean;
  position: number;
}

export function diskEvents(calls: readonly SystemCall[], home: string): DiskEvents {
  const names: NameEvent[] = [];
  const data: DataEvent[] = [];
  const syncs: SyncEvent[] = [];
  const said: { text: string; ended: number }[] = [];
  const files = new Map<string, number>();
  const sizes: number[] = [];
  const open = new Map<number, OpenFile>();
  const inHome = (path: string): boolean => path === home || path.startsWith(`${home}/`);

  /** The shared-memory index of SQLite is not data: the first process that opens the database rebuilds it. */
  const isMemory = (path: string): boolean => path.endsWith("-shm");

  function opened(call: SystemCall): void {
    const path = stringsIn(call.args)[0]?.toString() ?? "";
    if (call.result < 0 || !inHome(path) || isMemory(path)) return void open.delete(call.result);
    if (call.args.includes("O_DIRECTORY") || !(files.has(path) || call.args.includes("O_CREAT"))) {
      return void open.set(call.result, { of: path, append: false, position: 0 });
    }
    let file = files.get(path);
    if (file === undefined) {
      file = sizes.length;
      sizes.push(0);
      files.set(path, file);
      names.push({ what: "create", path, file, begun: call.begun, ended: call.ended });
    } else if (call.args.includes("O_TRUNC")) {
      truncated(call, file, 0);
    }
    open.set(call.result, { of: file, append: call.args.includes("O_APPEND"), position: 0 });
  }

  function truncated(call: SystemCall, file: number, size: number): void {
    sizes[file] = size;
    data.push({ what: "truncate", file, size, begun: call.begun, ended: call.ended });
  }

  function written(call: SystemCall, placed: boolean): void {
    const target = descriptorIn(call.args);
    if (!target || call.result <= 0) return;
    const bytes = Buffer.concat(stringsIn(call.args.slice(call.args.indexOf(">")))).subarray(0, call.result);
    if (target.fd === 1) return void said.push({ text: bytes.toString(), ended: call.ended });
    const file = open.get(target.fd);
    if (!inHome(target.path) || !file || typeof file.of !== "number") return;
    const offset = placed ? lastNumberIn(call.args) : file.append ? (sizes[file.of] ?? 0) : file.position;
    if (!placed) file.position = offset + bytes.length;
    sizes[file.of] = Math.max(sizes[file.of] ?? 0, offset + bytes.length);
    data.push({ what: "write", file: file.of, offset, data: bytes, begun: call.begun, ended: call.ended });
  }

  for (const call of calls) {
    const at = { begun: call.begun, ended: call.ended };
    const target = descriptorIn(call.args);
    const file = target && inHome(target.path) ? open.get(target.fd) : undefined;
    switch (call.name) {
      case "openat":
      case "open":
        opened(call);
        break;
      case "write":
      case "writev":
        written(call, false);
        break;
      case "pwrite64":
        written(call, true);
        break;
      case "ftruncate":
        if (call.result === 0 && typeof file?.of === "number") truncated(call, file.of, lastNumberIn(call.args));
        break;
      case "fsync":
      case "fdatasync":
        if (call.result === 0 && file) syncs.push({ of: file.of, ...at });
        break;
      case "mkdir":
      case "unlink":
      case "rename": {
        const [path = "", to = ""] = stringsIn(call.args).map(String);
        if (call.result !== 0 || !inHome(path)) break;
        if (call.name === "mkdir") names.push({ what: "folder", path, ...at });
        if (call.name === "unlink") {
          files.delete(path);
          if (!isMemory(path)) names.push({ what: "remove", path, ...at });
        }
        if (call.name === "rename") {
          const moved = files.get(path);
          files.delete(path);
          if (moved !== undefined) files.set(to, moved);
          names.push({ what: "rename", path, to, ...at });
        }
        break;
      }
      default:
        // An unknown call must not be ignored.
        if (call.result >= 0 && call.args.includes(Buffer.from(home).toString("hex").replaceAll(/../g, "\\x$&"))) {
          throw new Error(`The recorded process used ${call.name}, which is not understood here.`);
        }
    }
  }
  return { names, data, syncs, said, last: calls.at(-1)?.ended ?? 0 };
}

export const parentOf = (path: string): string => dirname(path);
