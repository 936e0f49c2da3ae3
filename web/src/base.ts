/** The address of the gateway. Keeps a prefix under which a proxy or another server has mounted it. */
export const BASE = new URL(".", location.href.split("#")[0]).href.replace(/\/$/, "");
