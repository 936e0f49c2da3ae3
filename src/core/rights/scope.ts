/** Scopes: what a token may do. They are stored on the server and never read from a request. */
export const SCOPES = ["read", "chat", "operate", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * What each scope includes. `read` sees every conversation, `chat` sends messages and sees only their answers, so
 * neither includes the other.
 */
const INCLUDES: Readonly<Record<Scope, readonly Scope[]>> = {
  read: ["read"],
  chat: ["chat"],
  operate: ["read", "chat", "operate"],
  admin: ["read", "chat", "operate", "admin"],
};

export const holds = (scopes: readonly Scope[], wanted: Scope): boolean =>
  scopes.some((scope) => INCLUDES[scope].includes(wanted));

/** Whether the grantor holds every scope it grants. */
export const within = (grantor: readonly Scope[], granted: readonly Scope[]): boolean =>
  granted.every((scope) => holds(grantor, scope));
