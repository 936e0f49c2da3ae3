/** What requests over the control socket carry: it has a path and no name, and the store that the command line names. */

export const CONTROL_HOST = "localhost";

/** The SHA-256 of the address of a shared store, if the command line or the environment names one. */
export const STORE_HEADER = "rookery-store";
