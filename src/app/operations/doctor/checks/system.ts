/** Checks of the machine: Node, the disk, permissions of the home, the clock and the time zone. */
import { chmodSync, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { freeBytes } from "../../../../adapters/store/sqlite/disk-room.ts";
import { DIRECTORY_MODE, FILE_MODE, type HomePaths, homeDirectories } from "../../../../config/paths.ts";
import { nodeProblem } from "../../../../core/node-version.ts";
import { hostZone } from "../../../../core/zoned-time.ts";
import { sizeText } from "../../size-text.ts";
import { defineCheck, type Finding } from "../check.ts";

export const nodeCheck = defineCheck({
  id: "node",
  check() {
    const { node } = process.versions;
    const problem = nodeProblem(node);
    const help = "Install a newer Node from https://nodejs.org.";
    return {
      fine: `Node ${node} on ${process.platform}.`,
      findings: problem === undefined ? [] : [{ level: "problem", text: problem, help }],
    };
  },
});

/** Below the first nothing works for long; below the second a large answer or a backup may not fit. */
const LITTLE_BYTES = 200 << 20;
const SCARCE_BYTES = 1 << 30;

/** The home, or the directory in which it will be made. */
function existingAbove(path: string): string {
  let place = path;
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place);
  return place;
}

export const diskCheck = defineCheck({
  id: "disk",
  check({ paths: { home } }) {
    const free = freeBytes(existingAbove(home));
    if (free === undefined) return { fine: "The file system does not say how much room there is." };
    const fine = `${sizeText(free)} are free on the disk of the home.`;
    if (free >= SCARCE_BYTES) return { fine };
    const level = free < LITTLE_BYTES ? "problem" : "notice";
    const text = `Only ${sizeText(free)} are free on the disk of ${home}.`;
    return {
      fine,
      findings: [{ level, text, help: "Make room: `rookery engine prune` removes what is old and not needed." }],
    };
  },
});

/** Files with secrets or conversations. */
const privateFiles = ({ config, database, auth, token, tokens }: HomePaths): readonly string[] =>
  [config, database, `${database}-wal`, auth, token, tokens].filter((file) => existsSync(file));

const isOpen = (path: string): boolean => (statSync(path).mode & 0o077) !== 0;

export const permissionsCheck = defineCheck({
  id: "permissions",
  check({ paths }) {
    if (process.platform === "win32") return { fine: "Not checked on this system." };
    const open = [...homeDirectories(paths).filter((path) => existsSync(path)), ...privateFiles(paths)].filter(isOpen);
    return {
      fine: "Only you can read the home.",
      findings: open.map(
        (path): Finding => ({
          level: "problem",
          text: `Other users of this machine may read ${path}.`,
          help: "`rookery doctor --fix` takes their access away.",
          fixable: true,
        }),
      ),
    };
  },
  fix({ paths }) {
    const directories = homeDirectories(paths).filter((path) => existsSync(path));
    const narrow = (mode: number) => (path: string) => {
      if (!isOpen(path)) return [];
      chmodSync(path, mode);
      return [`${path} is readable only for you now.`];
    };
    return [...directories.flatMap(narrow(DIRECTORY_MODE)), ...privateFiles(paths).flatMap(narrow(FILE_MODE))];
  },
});

/** A clock before this is not set: the program did not exist then. */
const EARLIEST = Date.UTC(2026, 0, 1);

export const clockCheck = defineCheck({
  id: "clock",
  needs: ["config"],
  async check({ config, now, store }) {
    const zone = config.session.timeZone ?? hostZone();
    const findings: Finding[] = [];
    const help = "Set the clock of this machine: schedules and limits by day follow it.";
    if (now < EARLIEST) {
      findings.push({ level: "problem", text: `The clock says ${new Date(now).toISOString()}.`, help });
    }
    const [latest] = (await store?.recentForeground({ limit: 1 })) ?? [];
    if (latest?.lastHumanAt !== undefined && latest.lastHumanAt > now + 60_000) {
      const text = `The latest message is from ${new Date(latest.lastHumanAt).toISOString()}, which is in the future.`;
      findings.push({ level: "problem", text, help });
    }
    return { fine: `The clock is set; the time zone is ${zone}.`, findings };
  },
});
