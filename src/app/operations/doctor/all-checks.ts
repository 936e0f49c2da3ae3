/** The checks that need no gateway, in the order of the report. A feature adds its own check here. */
import type { DoctorCheck } from "./check.ts";
import { conversationsCheck } from "./checks/conversations.ts";
import { connectorsCheck, exposureCheck, modelCheck } from "./checks/outside.ts";
import { packagesCheck } from "./checks/packages.ts";
import { attemptsCheck, rootCheck, sandboxCheck } from "./checks/sandbox.ts";
import { setAsideCheck } from "./checks/set-aside.ts";
import { skillsCheck } from "./checks/skills.ts";
import { configurationCheck, plainFilesCheck, sharedWorkspaceCheck, storeCheck } from "./checks/store.ts";
import { clockCheck, diskCheck, nodeCheck, permissionsCheck } from "./checks/system.ts";
import { budgetsCheck, deliveriesCheck, runsCheck, schedulesCheck } from "./checks/work.ts";

export const CHECKS: readonly DoctorCheck[] = [
  nodeCheck,
  diskCheck,
  permissionsCheck,
  clockCheck,
  configurationCheck,
  storeCheck,
  plainFilesCheck,
  runsCheck,
  deliveriesCheck,
  schedulesCheck,
  connectorsCheck,
  conversationsCheck,
  packagesCheck,
  modelCheck,
  budgetsCheck,
  exposureCheck,
  sandboxCheck,
  attemptsCheck,
  rootCheck,
  sharedWorkspaceCheck,
  skillsCheck,
  setAsideCheck,
];
