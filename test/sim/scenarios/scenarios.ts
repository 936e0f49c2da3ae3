/** All scenarios. Their order decides which one a seed of `npm run sim` runs. */
import type { Feature } from "../subjects/subject.ts";
import { APPROVAL_SCENARIOS } from "./approval-scenarios.ts";
import { BASIC_SCENARIOS } from "./basic-scenarios.ts";
import { CONTEXT_SCENARIOS } from "./context-scenarios.ts";
import { FILE_SCENARIOS } from "./file-scenarios.ts";
import { MESSAGE_SCENARIOS } from "./message-scenarios.ts";
import { MODEL_SCENARIOS } from "./model-scenarios.ts";
import { OWED_SCENARIOS } from "./owed-scenarios.ts";
import { PEOPLE_SCENARIOS } from "./people-scenarios.ts";
import { QUEUE_SCENARIOS } from "./queue-scenarios.ts";
import { RECEIPT_SCENARIOS } from "./receipt-scenarios.ts";
import { RIGHTS_SCENARIOS } from "./rights-scenarios.ts";
import { type NamedChanges, type Scenario, scenario } from "./scenario.ts";
import { SEARCH_SCENARIOS } from "./search-scenarios.ts";
import { SESSION_SCENARIOS } from "./session-scenarios.ts";
import { SUBAGENT_SCENARIOS } from "./subagent-scenarios.ts";
import { TRIAL_SCENARIOS } from "./trial-scenarios.ts";
import { TRIGGER_SCENARIOS } from "./trigger-scenarios.ts";

const BIG_OUTPUTS: NamedChanges = [
  "big-outputs",
  "tools that say more than the model is shown",
  { needs: ["tools", "files"], workload: { directives: { "tool:big": 0.2, "tool:safe": 0.1 } } },
];

export const SCENARIOS: readonly Scenario[] = [
  ...BASIC_SCENARIOS,
  ...MESSAGE_SCENARIOS,
  ...MODEL_SCENARIOS,
  ...QUEUE_SCENARIOS,
  ...TRIGGER_SCENARIOS,
  ...CONTEXT_SCENARIOS,
  ...SESSION_SCENARIOS,
  BIG_OUTPUTS,
  ...SUBAGENT_SCENARIOS,
  ...TRIAL_SCENARIOS,
  ...OWED_SCENARIOS,
  ...RIGHTS_SCENARIOS,
  ...FILE_SCENARIOS,
  ...APPROVAL_SCENARIOS,
  ...PEOPLE_SCENARIOS,
  ...RECEIPT_SCENARIOS,
  ...SEARCH_SCENARIOS,
].map(([name, about, changed]) => scenario(name, about, changed));

export function scenarioNamed(name: string): Scenario {
  const found = SCENARIOS.find((one) => one.name === name);
  if (!found) throw new Error(`Unknown scenario ${name}. Known: ${SCENARIOS.map((one) => one.name).join(", ")}`);
  return found;
}

/** The scenarios that a subject can run. */
export const scenariosFor = (features: readonly Feature[]): readonly Scenario[] =>
  SCENARIOS.filter(({ needs }) => needs.every((need) => features.includes(need)));
