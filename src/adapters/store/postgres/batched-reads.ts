/**
 * Reads of the same kind that are asked for at the same moment, for whichever agents, go to the database as one: the
 * statement is put beside a list of values and answers for each. A read that is alone goes as it is.
 */
import type pg from "pg";
import type { Row } from "./connections.ts";
import { sqlText } from "./sql-text.ts";

/** Statements that many agents ask at once, with the types of their values. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  "select-agent": ["text"],
  "select-agent-by-key": ["text"],
  "select-waiting": ["text", "bigint", "bigint"],
  "select-waiting-urgent": ["text", "bigint", "bigint"],
  "select-message": ["text", "bigint"],
  "select-run": ["text"],
  "select-lines-back": ["text", "bigint", "bigint"],
  "select-delivery-head": ["text"],
  "select-delivery": ["text"],
  "select-fact": ["text"],
};

const MAX_COUNT = 64;
/** Batches of one kind under way at once; what is asked meanwhile gathers. */
const LANES = 2;

interface Asked {
  readonly values: readonly unknown[];
  readonly resolve: (rows: readonly Row[]) => void;
  readonly reject: (error: unknown) => void;
}

interface Kind {
  readonly queue: Asked[];
  underWay: number;
  scheduled: boolean;
}

export class BatchedReads {
  readonly #read: (query: pg.QueryConfig) => Promise<readonly Row[]>;
  readonly #kinds = new Map<string, Kind>();

  constructor(read: (query: pg.QueryConfig) => Promise<readonly Row[]>) {
    this.#read = read;
  }

  ask(name: string, values: readonly unknown[]): Promise<readonly Row[]> {
    if (!TYPES[name]) return this.#read(single(name, values));
    return new Promise((resolve, reject) => {
      const kind = this.#kinds.get(name) ?? { queue: [], underWay: 0, scheduled: false };
      this.#kinds.set(name, kind);
      kind.queue.push({ values, resolve, reject });
      if (kind.scheduled) return;
      kind.scheduled = true;
      setImmediate(() => this.#pump(name, kind));
    });
  }

  #pump(name: string, kind: Kind): void {
    kind.scheduled = false;
    while (kind.queue.length > 0 && kind.underWay < LANES) {
      kind.underWay += 1;
      void this.#send(name, kind.queue.splice(0, MAX_COUNT)).finally(() => {
        kind.underWay -= 1;
        this.#pump(name, kind);
      });
    }
  }

  async #send(name: string, batch: readonly Asked[]): Promise<void> {
    const [only] = batch;
    try {
      if (batch.length === 1 && only) {
        only.resolve(await this.#read(single(name, only.values)));
        return;
      }
      const rows = await this.#read(together(name, batch));
      const answers = batch.map((): Row[] => []);
      for (const { asked, ...row } of rows) answers[Number(asked) - 1]?.push(row);
      batch.forEach(({ resolve }, index) => {
        resolve(answers[index] as Row[]);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

const single = (name: string, values: readonly unknown[]): pg.QueryConfig => ({
  name,
  text: sqlText(name),
  values: [...values],
});

const texts = new Map<string, string>();

function together(name: string, batch: readonly Asked[]): pg.QueryConfig {
  const types = TYPES[name] as readonly string[];
  let text = texts.get(name);
  if (text === undefined) {
    const lists = types.map((type, at) => `$${at + 1}::${type}[]`).join(", ");
    const columns = types.map((_, at) => `p${at + 1}`).join(", ");
    const each = sqlText(name).replaceAll(/\$(\d+)/g, "w.p$1");
    text = `SELECT w.asked, r.* FROM unnest(${lists}) WITH ORDINALITY AS w (${columns}, asked), LATERAL (${each}) AS r`;
    texts.set(name, text);
  }
  return { name: `${name}-many`, text, values: types.map((_, at) => batch.map(({ values }) => values[at])) };
}
