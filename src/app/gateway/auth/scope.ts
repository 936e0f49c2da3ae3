/** What a token may do. Scopes are granted on the server and never read from a request. */
export const SCOPES = ["read", "chat", "operate", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * What each scope includes. To read is to see every conversation; to chat is to speak and hear one's own answers, so
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

/** Whether everything that is granted is something the grantor has. */
export const within = (grantor: readonly Scope[], granted: readonly Scope[]): boolean =>
  granted.every((scope) => holds(grantor, scope));
