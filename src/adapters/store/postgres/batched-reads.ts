/**
 * Reads with the same statement that are requested at the same moment, for any agents, go to the database as one query: the
 * statement is joined with a list of values and answers for each. A single read is sent unchanged.
 */
import type pg from "pg";

export type Row = Record<string, unknown>;

/** A statement that is prepared once per connection, under its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** The types of its values, if many agents read with it at once: then reads of the same moment are combined. */
  readonly types?: readonly ("text" | "bigint")[];
}

type CombinableStatement = Required<Statement>;

const isCombinable = (statement: Statement): statement is CombinableStatement => statement.types !== undefined;

const MAX_COUNT = 64;
/** Queries with one statement in progress at once; reads requested while they run are combined into the next. */
const LANES = 2;

interface Request {
  readonly values: readonly unknown[];
  readonly resolve: (rows: readonly Row[]) => void;
  readonly reject: (error: unknown) => void;
}

interface Lane {
  readonly statement: CombinableStatement;
  /** The text of a query for several reads. */
  readonly combined: string;
  readonly queue: Request[];
  running: number;
  scheduled: boolean;
}

export class BatchedReads {
  readonly #read: (query: pg.QueryConfig) => Promise<readonly Row[]>;
  readonly #lanes = new Map<string, Lane>();

  constructor(read: (query: pg.QueryConfig) => Promise<readonly Row[]>) {
    this.#read = read;
  }

  ask(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    if (!isCombinable(statement)) return this.#read(single(statement, values));
    return new Promise((resolve, reject) => {
      let lane = this.#lanes.get(statement.name);
      if (!lane) {
        lane = { statement, combined: combined(statement), queue: [], running: 0, scheduled: false };
        this.#lanes.set(statement.name, lane);
      }
      lane.queue.push({ values, resolve, reject });
      if (lane.scheduled) return;
      lane.scheduled = true;
      setImmediate(() => this.#pump(lane));
    });
  }

  #pump(lane: Lane): void {
    lane.scheduled = false;
    while (lane.queue.length > 0 && lane.running < LANES) {
      lane.running += 1;
      void this.#send(lane, lane.queue.splice(0, MAX_COUNT)).finally(() => {
        lane.running -= 1;
        this.#pump(lane);
      });
    }
  }

  async #send({ statement, combined }: Lane, batch: readonly Request[]): Promise<void> {
    const [only] = batch;
    try {
      if (batch.length === 1 && only) {
        only.resolve(await this.#read(single(statement, only.values)));
        return;
      }
      const rows = await this.#read({
        name: `${statement.name}-many`,
        text: combined,
        values: statement.types.map((_, at) => batch.map(({ values }) => values[at])),
      });
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

const single = ({ name, text }: Statement, values: readonly unknown[]): pg.QueryConfig => ({
  name,
  text,
  values: [...values],
});

function combined({ text, types }: CombinableStatement): string {
  const lists = types.map((type, at) => `$${at + 1}::${type}[]`).join(", ");
  const columns = types.map((_, at) => `p${at + 1}`).join(", ");
  const each = text.replaceAll(/\$(\d+)/g, "w.p$1");
  return `SELECT w.asked, r.* FROM unnest(${lists}) WITH ORDINALITY AS w (${columns}, asked), LATERAL (${each}) AS r`;
}
