/**
 * The filters of system calls that keep a sandboxed command from connecting to Unix sockets. `apply-seccomp` of the sandbox runtime
 * denies new ones, but lets pairs of datagram sockets through, which can send to any path. The filter made here denies those.
 */
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

interface Architecture {
  /** As in `linux/audit.h`. */
  readonly audit: number;
  readonly socketpair: number;
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: { audit: 0xc000003e, socketpair: 53 },
  arm64: { audit: 0xc00000b7, socketpair: 199 },
};
const IO_URING_SETUP = 425;
/** Numbers from here on are the x32 calls of an x64 kernel. */
const X32 = 0x4000_0000;

const LOAD_WORD = 0x20;
const AND = 0x54;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const RETURN = 0x06;
const ALLOW = 0x7fff_0000;
const EPERM = 0x0005_0001;

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_SEQPACKET = 5;
const SOCK_TYPE = 0xf;

/** The program as the kernel reads it; undefined for an architecture without one. */
export function socketFilter(architecture: string): Buffer | undefined {
  const known = ARCHITECTURES[architecture];
  if (!known) return undefined;
  // Code, steps to skip if true, steps to skip if false, operand. The last two steps are "allow" and "deny".
  const steps: readonly (readonly [code: number, ifTrue: number, ifFalse: number, operand: number])[] = [
    [LOAD_WORD, 0, 0, 4],
    [JUMP_EQUAL, 0, 11, known.audit],
    [LOAD_WORD, 0, 0, 0],
    [JUMP_AT_LEAST, 9, 0, X32],
    [JUMP_EQUAL, 8, 0, IO_URING_SETUP],
    [JUMP_EQUAL, 0, 6, known.socketpair],
    [LOAD_WORD, 0, 0, 16],
    [JUMP_EQUAL, 0, 4, AF_UNIX],
    [LOAD_WORD, 0, 0, 24],
    [AND, 0, 0, SOCK_TYPE],
    [JUMP_EQUAL, 1, 0, SOCK_STREAM],
    [JUMP_EQUAL, 0, 1, SOCK_SEQPACKET],
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, EPERM],
  ];
  const program = Buffer.alloc(steps.length * 8);
  steps.forEach(([code, ifTrue, ifFalse, operand], index) => {
    const at = program.writeUInt16LE(code, index * 8);
    program.writeUInt32LE(operand, program.writeUInt8(ifFalse, program.writeUInt8(ifTrue, at)));
  });
  return program;
}

/** The programs of the sandbox runtime that run inside a sandbox. */
export function vendorDirectory(): string {
  const entry = createRequire(import.meta.url).resolve("@anthropic-ai/sandbox-runtime");
  return join(dirname(entry), "..", "vendor");
}

/** The program that denies Unix sockets and starts another one; undefined if there is none for this machine. */
export function socketHelper(): string | undefined {
  const path = join(vendorDirectory(), "seccomp", process.arch, "apply-seccomp");
  return existsSync(path) ? path : undefined;
}

/** The helper makes a namespace of its own, in which root needs this to be mapped. A command has no use for it. */
export const HELPER_CAPABILITIES = process.getuid?.() === 0 ? ["--cap-add", "CAP_SETFCAP"] : [];

/** Not 9, which the sandbox runtime uses for itself. */
const DESCRIPTOR = "8";

/** Arguments of bubblewrap, for a command that `withFilter` starts. */
export const filterArguments = (): readonly string[] =>
  socketFilter(process.arch) === undefined ? [] : ["--seccomp", DESCRIPTOR];

let written: string | undefined;

/** Starts a command with the filter open under the number that `filterArguments` names. */
export function withFilter(argv: readonly string[]): readonly string[] {
  const program = socketFilter(process.arch);
  if (program === undefined) return argv;
  // A service that cleans temporary directories may have removed it.
  if (written === undefined || !existsSync(written)) {
    written = join(mkdtempSync(join(tmpdir(), "rookery-filter-")), "sockets.bpf");
    writeFileSync(written, program, { mode: 0o600 });
  }
  return ["/bin/sh", "-c", `exec ${DESCRIPTOR}<"$0" && exec "$@"`, written, ...argv];
}
