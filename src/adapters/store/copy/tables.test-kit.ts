/** Tables that belong to one database: the other creates its own, or keeps the data elsewhere. They are not copied. */
export const LEFT_BEHIND = ["meta", "nodes", "changes", "states", "files"];
