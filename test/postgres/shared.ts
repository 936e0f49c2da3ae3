/**
 * One server for all test files of a run, started by the first that needs it and ended with the run; or the one that
 * `ROOKERY_TEST_POSTGRES` names. Each file gets its own database.
 */
import { randomBytes } from "node:crypto";
import { existsSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startServer, withClient } from "./server.ts";

export async function freshDatabase(): Promise<string> {
  const server = await serverForTests();
  const name = `test_${randomBytes(6).toString("hex")}`;
  await withClient(server, (client) => client.query(`CREATE DATABASE "${name}"`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** The address of the server on which databases are created. */
export const serverForTests = async (): Promise<string> => process.env.ROOKERY_TEST_POSTGRES ?? (await sharedServer());

async function sharedServer(): Promise<string> {
  const directory = process.env.ROOKERY_TEST_RUN;
  if (!directory) throw new Error("No run is set up: is test/kit/setup.ts among vitest's global setups?");
  const info = join(directory, "server.json");
  if (!existsSync(info) && isFirst(directory)) {
    try {
      const { url, pid } = await startServer({ directory: join(directory, "postgres") });
      writeFileSync(`${info}.new`, JSON.stringify({ url, pid }));
    } catch (error) {
      writeFileSync(`${info}.new`, JSON.stringify({ error: String(error) }));
    }
    renameSync(`${info}.new`, info);
  }
  while (!existsSync(info)) await new Promise((resolve) => setTimeout(resolve, 50));
  const { url, error } = JSON.parse(readFileSync(info, "utf8"));
  if (error) throw new Error(`The shared server did not start: ${error}`);
  return url;
}

function isFirst(directory: string): boolean {
  try {
    openSync(join(directory, "server.lock"), "wx");
    return true;
  } catch {
    return false;
  }
}
