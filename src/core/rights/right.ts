/** What a tool may touch. Granted by the person's role, grants, profile and kind of agent, never by the model. */
export const RIGHTS = ["read", "write", "network", "exec", "send", "spawn", "schedule"] as const;
export type Right = (typeof RIGHTS)[number];
