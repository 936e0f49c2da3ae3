/** How commands of agents run: in which sandbox, what they see besides the workspace, and how much they may use. */
import { secretSchema } from "../secret.ts";
import { list, named, oneOf, section, text, wholeNumber } from "../values.ts";

export const sandboxDefaults = {
  kind: "auto",
  domains: [] as readonly string[],
  read: [] as readonly string[],
  memoryMb: 4_096,
  diskMb: 10_240,
} as const;

export const sandboxSchema = section({
  /** `auto`: the first that works on this machine. */
  kind: oneOf(["auto", "srt", "bwrap", "docker"]).default(sandboxDefaults.kind),
  /** The image for `docker`. It is never pulled. */
  dockerImage: text("the name of a Docker image").optional(),
  /** Hosts that commands may reach. */
  domains: list(text('a host such as "example.org" or "*.example.org"')).default(sandboxDefaults.domains),
  /** Directories that commands of the owner's agents may read although they are hidden by default. */
  read: list(text("the path of a directory")).default(sandboxDefaults.read),
  /** Secrets that a call may ask for, by the name of the variable. */
  secrets: named(secretSchema).default({}),
  /** How much memory a command may use with everything that it has started. */
  memoryMb: wholeNumber(16, 1_048_576).default(sandboxDefaults.memoryMb),
  /** How much a command may add to the directories that it can write. */
  diskMb: wholeNumber(1, 100_000_000).default(sandboxDefaults.diskMb),
}).prefault({});
