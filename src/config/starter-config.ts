/** The configuration `rookery config init` writes. Settings behind `//` without a space are examples to switch on. */
export const STARTER_CONFIG = `// The configuration of Rookery, in JSON5: comments, bare keys and trailing commas are welcome.
// Every setting has a default; \`rookery config show\` prints them all, \`rookery config check\` checks this file.
{
  gateway: {
    port: 7717,
    // Only this machine can connect.
    host: "127.0.0.1",
  },

  models: {
    // A model is named provider/id.
    //default: "local/llama",
    providers: {
      //local: {
      //  api: "openai-completions",
      //  baseUrl: "http://127.0.0.1:11434/v1",
      // Secrets are referred to, not written down: { env: "NAME" } or { file: "path" }.
      //  apiKey: { env: "LOCAL_API_KEY" },
      //  models: [{ id: "llama", contextWindow: 128000, maxTokens: 8192 }],
      //},
    },
  },

  profiles: {
    // The model, prompt and tools of an agent. \`main\` is the default profile.
    //main: { model: "local/llama", prompt: "You are a helpful assistant." },
  },

  queue: {
    // What happens to a message while its agent is busy:
    // steer, followup, collect, steer-backlog, queue or interrupt.
    mode: "collect",
    debounceMs: 1000,
    //byChannel: { telegram: "steer" },
  },

  log: { level: "info" },
}
`;
