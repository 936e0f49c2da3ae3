/**
 * The MCP servers of a node: one link each, their pinned tools, and what changes when the configuration does. A server without pins is
 * asked for its tools once, in the background; from then on it starts with its first use only.
 */
import { errorText } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import { matchesWildcard } from "../../../core/rights/wildcard.ts";
import { identitiesOf } from "../files/set-aside.ts";
import { type CallAnswers, callAnswers } from "./call-answers.ts";
import { type InputStore, openInputs } from "./input-asked.ts";
import { mcpAnswerTool } from "./mcp-answer-tool.ts";
import { mcpPromptsTool, mcpResourcesTool, type ServerNamed } from "./mcp-read-tools.ts";
import { type McpToolDeps, mcpTool } from "./mcp-tool.ts";
import type { McpSession, OpenSession } from "./open-session.ts";
import {
  comparePins,
  type PinChanges,
  type PinnedTool,
  type Pins,
  pinned,
  readPins,
  writePins,
} from "./pinned-tools.ts";
import { type LinkState, ServerLink } from "./server-link.ts";

/** A server as the configuration has it now. */
interface ServerSettings {
  /** After how long without a call it is stopped. Default: five minutes. */
  readonly idleSeconds?: number;
  /** How long it may take to start. Default: a minute. */
  readonly startSeconds?: number;
  readonly timeoutSeconds: number;
  readonly allow?: readonly string[];
  readonly deny: readonly string[];
  readonly safe: readonly string[];
  readonly profiles?: readonly string[];
}

interface McpServersOptions {
  /** The enabled servers, by name. Read at each use. */
  readonly settings: () => Readonly<Record<string, ServerSettings>>;
  /** How to reach one. `answers` answers what it asks during a call. */
  readonly open: (server: string, answers: CallAnswers) => OpenSession;
  /** The prompt files that it could make, because it may write their directories. */
  readonly prompts?: (server: string) => Promise<readonly string[]>;
  /** Sets aside what it has put in their place. Returns their paths. */
  readonly settle?: (server: string) => Promise<readonly string[]>;
  /** Where the pins are. */
  readonly directory: string;
  readonly store: InputStore;
  readonly clock: Clock;
  readonly log: Pick<Log, "warn" | "info">;
}

interface ServerStatus {
  readonly name: string;
  readonly state: LinkState;
  readonly tools: number;
  readonly reviewed: boolean;
  readonly changed: readonly string[];
  readonly error?: string;
}

interface Server {
  readonly deps: McpToolDeps;
  readonly link: ServerLink;
  pins: Pins | undefined;
  changed: ReadonlySet<string>;
  tools: readonly Tool[];
  /** The settings that its tools were made with. */
  madeWith: string;
  asked: boolean;
}

export class McpServers {
  readonly #options: McpServersOptions;
  readonly #servers = new Map<string, Server>();
  readonly #readers: readonly Tool[];
  /** The list that was given last, and the lists it was made of. */
  #list: { readonly of: readonly (readonly Tool[])[]; readonly tools: readonly Tool[] } = { of: [], tools: [] };
  #lookedAt = 0;
  /** Which server a tool belongs to. */
  readonly #owner = new Map<string, string>();

  constructor(options: McpServersOptions) {
    this.#options = options;
    const named: ServerNamed = (name, profile) =>
      isOfProfile(options.settings()[name], profile) ? this.#server(name)?.deps : undefined;
    this.#readers = [
      mcpAnswerTool({ store: options.store, now: () => options.clock.now(), serverNamed: named }),
      mcpResourcesTool(named),
      mcpPromptsTool(named),
    ] as readonly Tool[];
  }

  /** The tools of all servers. The same array as long as nothing has changed. */
  tools(): readonly Tool[] {
    const names = Object.keys(this.#options.settings()).sort();
    if (names.length === 0 && this.#servers.size === 0) return NONE;
    for (const name of [...this.#servers.keys()]) if (!names.includes(name)) this.#drop(name);
    this.#readPinsAgain();
    this.#followSettings();
    const of = names.map((name) => this.#server(name)?.tools ?? []);
    const same = of.length === this.#list.of.length && of.every((tools, index) => tools === this.#list.of[index]);
    if (!same) this.#list = { of, tools: [...of.flat(), ...(names.length > 0 ? this.#readers : [])] };
    return this.#list.tools;
  }

  /** Whether agents of a profile may use a tool. */
  isFor(tool: string, profile: string): boolean {
    const server = this.#owner.get(tool);
    if (server === undefined) return true;
    return isOfProfile(this.#options.settings()[server], profile);
  }

  /** Where the texts of a tool come from, if no person has looked at them. */
  untrustedFrom(tool: string): string | undefined {
    const server = this.#owner.get(tool);
    return server === undefined || this.#servers.get(server)?.pins?.reviewed ? undefined : `mcp:${server}`;
  }

  /** For the model: which servers there are. */
  summary(): string {
    const names = Object.keys(this.#options.settings()).sort();
    return names.length === 0 ? "" : `, MCP servers (${names.join(", ").slice(0, MAX_SUMMARY)})`;
  }

  status(): readonly ServerStatus[] {
    return Object.keys(this.#options.settings()).map((name) => {
      const server = this.#server(name);
      return {
        name,
        state: server?.link.state ?? "idle",
        tools: server?.tools.length ?? 0,
        reviewed: server?.pins?.reviewed ?? false,
        changed: [...(server?.changed ?? [])],
        error: server?.link.lastError || undefined,
      };
    });
  }

  /** Connects, and compares the tools with the pinned ones. */
  async check(name: string): Promise<{ readonly live: readonly PinnedTool[]; readonly changes: PinChanges }> {
    const server = this.#server(name);
    if (!server) return { live: [], changes: { added: [], removed: [], changed: [] } };
    return server.link.use((session) => this.#compare(name, server, session));
  }

  /** Pins the tools as they are now: a person has looked at them. */
  async pin(name: string): Promise<void> {
    const server = this.#server(name);
    if (!server) return;
    const tools = await server.link.use(liveTools);
    this.#pinned(name, server, { version: 1, reviewed: true, pinnedAt: this.#options.clock.now(), tools: [...tools] });
    server.changed = new Set();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map(({ link }) => link.close()));
  }

  #drop(name: string): void {
    const server = this.#servers.get(name);
    this.#servers.delete(name);
    void server?.link.close();
  }

  #server(name: string): Server | undefined {
    const known = this.#servers.get(name);
    const { settings, open, clock, directory, store } = this.#options;
    if (settings()[name] === undefined) return undefined;
    if (known) return known;
    const now = (): ServerSettings => settings()[name] ?? GONE;
    const answers = callAnswers();
    const link = new ServerLink({
      ...{ name, clock, open: open(name, answers) },
      settings: () => {
        const { idleSeconds = IDLE_SECONDS, startSeconds = START_SECONDS } = now();
        return { idleMs: idleSeconds * 1_000, startMs: startSeconds * 1_000 };
      },
      // Its sandbox protects the prompt files that existed when it started.
      dependsOn: async () => identitiesOf((await this.#options.prompts?.(name)) ?? []),
      onOpened: async (session) => this.#opened(name, session),
    });
    const deps: McpToolDeps = {
      ...{ server: name, link, answers },
      open: (agentId) => openInputs(store, agentId, clock.now()),
      isSafe: (tool) => matches(now().safe, tool),
      isOffered: (tool) => isOffered(now(), tool),
      timeoutMs: () => now().timeoutSeconds * 1_000,
      settle: async () => (await this.#options.settle?.(name)) ?? [],
      changed: async (session) => {
        await this.#compare(name, server, session);
        return server.changed;
      },
    };
    const pins = readPins(directory, name);
    const server: Server = { deps, link, pins, changed: new Set(), tools: [], madeWith: "", asked: false };
    this.#servers.set(name, server);
    this.#makeTools(name, server);
    if (!server.pins) this.#askInBackground(name, server);
    return server;
  }

  /** A person may have pinned tools with a command. */
  #readPinsAgain(): void {
    const { clock, directory } = this.#options;
    if (clock.monotonic() - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = clock.monotonic();
    for (const [name, server] of this.#servers) {
      const pins = readPins(directory, name);
      if (!pins || JSON.stringify(pins) === JSON.stringify(server.pins)) continue;
      server.pins = pins;
      this.#makeTools(name, server);
      // The next session compares again.
      void server.link.restart();
    }
  }

  /** A reload may leave out tools, and may name other safe ones and other profiles. */
  #followSettings(): void {
    for (const [name, server] of this.#servers)
      if (server.madeWith !== this.#offerOf(name)) this.#makeTools(name, server);
  }

  #offerOf(name: string): string {
    const { allow, deny, safe, profiles } = this.#options.settings()[name] ?? GONE;
    return JSON.stringify([allow, deny, safe, profiles]);
  }

  #askInBackground(name: string, server: Server): void {
    if (server.asked) return;
    server.asked = true;
    server.link
      .use(async () => undefined)
      .catch((error) =>
        this.#options.log.warn(`The tools of the MCP server ${name} are not known yet.`, { error: errorText(error) }),
      );
  }

  /** Each new session: its tools are compared with the pinned ones, or pinned if it is the first. */
  async #opened(name: string, session: McpSession): Promise<void> {
    const server = this.#servers.get(name);
    if (!server) return;
    const { live } = await this.#compare(name, server, session);
    if (server.pins) return;
    const pinnedAt = this.#options.clock.now();
    this.#pinned(name, server, { version: 1, reviewed: false, pinnedAt, tools: [...live] });
  }

  /** Asks for the tools and compares them with the pinned ones: at every list and before every call. */
  async #compare(name: string, server: Server, session: McpSession) {
    const live = await liveTools(session);
    const changes = comparePins(server.pins?.tools ?? [], live);
    const changed = new Set([...changes.changed, ...changes.removed]);
    const isNews = changes.changed.some((tool) => !server.changed.has(tool));
    server.changed = changed;
    if (isNews)
      this.#options.log.warn(`The MCP server ${name} describes tools differently than when they were pinned.`, {
        changed: changes.changed.join(", "),
      });
    return { live, changes };
  }

  #pinned(name: string, server: Server, pins: Pins): void {
    writePins(this.#options.directory, name, pins);
    server.pins = pins;
    this.#makeTools(name, server);
  }

  #makeTools(name: string, server: Server): void {
    const { deps, pins } = server;
    const offered = (pins?.tools ?? []).filter((tool) => deps.isOffered(tool.name));
    server.madeWith = this.#offerOf(name);
    server.tools = offered.map((tool) => mcpTool(deps, tool) as Tool);
    for (const tool of server.tools) this.#owner.set(tool.name, name);
  }
}

const NONE: readonly Tool[] = [];
const MAX_SUMMARY = 300;
const LOOK_MS = 5_000;
const IDLE_SECONDS = 300;
/** A package manager may have to fetch the server first. */
const START_SECONDS = 60;
const GONE: ServerSettings = { idleSeconds: 1, startSeconds: 1, timeoutSeconds: 1, deny: [], safe: [] };

const matches = (patterns: readonly string[], tool: string): boolean =>
  patterns.some((pattern) => matchesWildcard(pattern, tool));

const isOffered = ({ allow, deny }: ServerSettings, tool: string): boolean =>
  (!allow || matches(allow, tool)) && !matches(deny, tool);

const isOfProfile = (settings: ServerSettings | undefined, profile: string): boolean =>
  settings?.profiles?.includes(profile) ?? true;

const liveTools = async (session: McpSession): Promise<readonly PinnedTool[]> =>
  (await session.tools()).flatMap((tool) => pinned(tool) ?? []);
