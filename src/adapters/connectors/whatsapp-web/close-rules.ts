/** What to do when WhatsApp has closed a connection, by its code. */

type AfterClose =
  /** At once: the server asked for a new connection. */
  | { readonly do: "reconnect" }
  | { readonly do: "back-off" }
  /** The session is gone: it is forgotten, and the person is asked to log in again. */
  | { readonly do: "log-in"; readonly say: string }
  /** Only a person can change it. */
  | { readonly do: "stop"; readonly say: string };

export function afterClose(code: number | undefined): AfterClose {
  switch (code) {
    case 515:
      return { do: "reconnect" };
    case 401:
      return { do: "log-in", say: "WhatsApp has logged this device out. Link it again." };
    case 440:
      return {
        do: "stop",
        say: "Another program uses this session. Stop it, then turn the account off and on in the configuration.",
      };
    case 403:
      return { do: "stop", say: "WhatsApp has blocked this account." };
    case 411:
      return { do: "stop", say: "The phone must be updated before other devices can be linked." };
    default:
      return { do: "back-off" };
  }
}
