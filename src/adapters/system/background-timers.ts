/**
 * Timers for work that a process may end without. They do not keep it alive, so nothing may wait for them: a promise that only such
 * a timer resolves ends the process with code 13 (M49).
 */

export const backgroundTimeout = (callback: () => void, ms: number): NodeJS.Timeout => setTimeout(callback, ms).unref();

export const backgroundInterval = (callback: () => void, ms: number): NodeJS.Timeout =>
  setInterval(callback, ms).unref();
