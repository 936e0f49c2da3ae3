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
  kind: oneOf(["auto", "srt", "bwrap", "docker"])
    .default(sandboxDefaults.kind)
    .describe("how commands are confined; `auto` is the first kind that works on this machine"),
  dockerImage: text("the name of a Docker image")
    .optional()
    .describe("the image for `docker`, which is never pulled; without one Docker is not used"),
  domains: list(text('a host such as "example.org" or "*.example.org"'))
    .default(sandboxDefaults.domains)
    .describe("hosts that commands may reach, such as `example.org` and `*.example.org`; only with `srt`"),
  read: list(text("the path of a directory"))
    .default(sandboxDefaults.read)
    .describe("directories that commands of the owner's agents may read although they are hidden"),
  secrets: named(secretSchema)
    .default({})
    .describe("secrets that a call can ask for; the command gets each as a variable of this name"),
  memoryMb: wholeNumber(16, 1_048_576)
    .default(sandboxDefaults.memoryMb)
    .describe("the memory, in MB, that a command may use with everything it has started; it is ended above that"),
  diskMb: wholeNumber(1, 100_000_000)
    .default(sandboxDefaults.diskMb)
    .describe("how many MB a command may add to the directories that it can write; it is ended above that"),
})
  .prefault({})
  .meta({ description: "how commands of agents run", page: "exec.md" });
