/** What the engine says about the conversation that is open, and how a conversation is named. */

/** As `GET /api/terminal` answers. */
export interface TerminalInfo {
  readonly version: string;
  /** Where the gateway listens; null if it does not, and for a guest. */
  readonly url: string | null;
  /** The owner's mailbox at this terminal; null: a guest, who has the mailbox of the token's person. */
  readonly terminal: string | null;
  readonly agentId: string | null;
  readonly sessionKey: string;
  readonly commands: boolean;
  readonly model: string | null;
  readonly why: string | null;
  readonly thinking: string | null;
  readonly verbose: string | null;
  readonly reasoning: string | null;
  readonly queueMode: string;
  readonly context: { readonly used: number | null; readonly window: number | null };
  readonly today: { readonly tokens: number; readonly dollars: number };
}

/** Which conversation: the main one, an agent by its id or session key, a thread of the person, or either by a name. */
export interface Conversation {
  readonly agent?: string;
  readonly thread?: string;
  /** An agent of this name; if there is none, a thread. */
  readonly to?: string;
  /** How it is called on the screen. */
  readonly name?: string;
}
