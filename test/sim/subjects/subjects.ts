/** The programs that can run in the simulated world, by name. The first is the default of `npm run sim`. */
import { engine } from "./engine-subject.ts";
import { minimalActor } from "./minimal-actor.ts";
import type { SubjectUnderTest } from "./subject.ts";

export const SUBJECTS: readonly SubjectUnderTest[] = [engine, minimalActor()];

export function subjectNamed(name: string | undefined): SubjectUnderTest {
  const subject = SUBJECTS.find((one) => name === undefined || one.name === name);
  if (!subject) throw new Error(`Unknown subject ${name}. Known: ${SUBJECTS.map((one) => one.name).join(", ")}`);
  return subject;
}
