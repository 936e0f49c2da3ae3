/**
 * The port of the search index: what was said in conversations and written in notes. The index can be rebuilt from history and
 * files at any time and is never the only copy (M35). Every text belongs to one space: a person's conversations, or a directory
 * of notes. A search names the spaces it may see and finds nothing else (L13).
 */
import type { AgentId } from "../ids.ts";
import { appUser } from "../people/person.ts";

/** `person:<id>` or `notes:<directory>`. */
export type Space = string;
export const personSpace = (person: string): Space => `person:${person}`;
export const notesSpace = (directory: string): Space => `notes:${directory}`;

/** What the names of these spaces begin with. */
export const spacesPrefix = (people: "all" | { readonly app: string }): string =>
  people === "all" ? "person:" : personSpace(appUser(people.app, ""));

export type Speaker = "user" | "assistant" | "note";

export interface SearchRequest {
  readonly query: string;
  /** Of conversations: these people's; `"all"`: everyone's, for the owner; or those of all users of an application. */
  readonly people: readonly string[] | "all" | { readonly app: string };
  /** Directories whose notes are searched too. */
  readonly notes: readonly string[];
  /** Only this conversation. */
  readonly agentId?: AgentId;
  readonly limit: number;
}

export interface SearchHit {
  readonly source: "conversation" | "note";
  /** To read on from here: `chat:<agent>#<position>` or `note:<path>#<line>`. */
  readonly ref: string;
  readonly speaker: Speaker;
  /** When it was said; for a note, when its file was changed. In milliseconds. */
  readonly at: number;
  readonly snippet: string;
  /** Higher is better; comparable within one answer only. */
  readonly score: number;
  readonly agentId?: AgentId;
  readonly sessionKey?: string;
  readonly position?: number;
  /** Of a note, in its directory. */
  readonly directory?: string;
  readonly path?: string;
  readonly line?: number;
  /** Where its text came from, if not from its person (M32). */
  readonly untrusted?: string;
}

export interface SearchState {
  readonly documents: number;
  /** Changes of the store that are not in the index yet; unknown on a shared store. */
  readonly behind?: number;
}

/** What a person has left in the index. */
export interface SearchTraces {
  readonly people: readonly string[];
  /** Ends of paths of directories with notes: a home may have been elsewhere before. */
  readonly directories: readonly string[];
  readonly agents: readonly AgentId[];
}

export const isTraceOf = ({ people, directories }: SearchTraces, space: Space): boolean =>
  people.some((person) => space === personSpace(person)) ||
  (space.startsWith(notesSpace("")) && directories.some((end) => space.endsWith(`/${end}`)));

export interface SearchIndex {
  /** Sees everything that was committed before the call, unless the index is still being built. */
  search(request: SearchRequest): Promise<readonly SearchHit[]>;
  /** Reads everything again. */
  rebuild(): Promise<void>;
  /** Removes these spaces and agents, also from the bytes of the file. No effect if there is no index. */
  forget(traces: SearchTraces): Promise<void>;
  state(): Promise<SearchState>;
  close(): Promise<void>;
}
