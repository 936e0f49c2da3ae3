/** Runs the test files in the order of `ROOKERY_ORDER`: the first that finds a mutant spares it to the others. */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export class OrderOfFiles extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const order = JSON.parse(readFileSync(process.env.ROOKERY_ORDER ?? "", "utf8")) as readonly string[];
    const place = ({ moduleId }: TestSpecification): number => order.indexOf(relative(ROOT, moduleId));
    return files.toSorted((one, other) => place(one) - place(other));
  }
}
