/**
 * Two configurations that differ in every key of the schema: for the test that reloads from one to the other. A new key
 * needs a value in both.
 */
type Values = Readonly<Record<string, unknown>>;

const limit = (n: number): Values => ({ tokens: 1e9 + n, dollars: 1_000 + n, messages: 1e6 + n });
const allowance = (n: number): Values => ({
  requestsPerMinute: 10_000 + n,
  messagesPerDay: 1e6 + n,
  tokensPerDay: 1e9 + n,
  dollarsPerDay: 900 + n,
});
const reset = (n: number): Values => ({ mode: n === 0 ? "idle" : "daily", atHour: 3 + n, idleMinutes: 500_000 + n });
const queueOf = (n: number): Values => ({
  mode: n === 0 ? "queue" : "collect",
  debounceMs: n,
  cap: 20 + n,
  drop: n === 0 ? "old" : "new",
});

const permissionsOf = (n: number): Values => ({
  allow: [`exec(echo ${n})`],
  ask: [`exec(date ${n})`],
  deny: [`exec(reboot ${n})`],
  untrusted: n === 0 ? "ask" : "rules",
});

/** `n` is 0 or 1. */
export function configAt(n: 0 | 1, modelPort: number, tls?: { cert: string; key: string }): Values {
  const thinking = n === 0 ? "low" : "high";
  const heartbeat = {
    every: n === 0 ? "2h" : "3h",
    target: n === 0 ? "last" : "none",
    ackMaxChars: 300 + n,
    includeReasoning: n === 1,
    prompt: `look ${n}`,
    session: n === 0 ? "main" : "agent:main:main",
    model: `local/m${n}`,
    activeHours: { start: `0${n}:00`, end: `2${3 + n}:${n === 0 ? 59 : "00"}`, timezone: n === 0 ? "user" : "local" },
    dollarsPerDay: 50 + n,
  };
  const tools = {
    allow: ["sessions_*", "agents_list", "current_time", "read", "write", "cron", `extra${n}*`],
    deny: [`denied${n}`],
    subagents: { allow: ["sessions_list", `more${n}`], deny: [`fewer${n}`] },
  };
  const profile = {
    model: `local/m${n}`,
    fallbacks: [`local/m${1 - n}`],
    thinking,
    authProfile: `key${n}`,
    prompt: `You are number ${n}.`,
    workspace: `desk${n}`,
    memory: { main: n === 0, days: n },
    tools,
    limits: { timeoutSeconds: 100 + n, maxIterations: 50 + n },
    permissions: permissionsOf(n),
    exec: {
      host: n === 0 ? "sandbox" : "gateway",
      node: `node${n}`,
      security: n === 0 ? "allowlist" : "full",
      ask: n === 0 ? "on-miss" : "always",
      elevated: n === 0 ? "ask" : "off",
    },
    workspaceAccess: n === 0 ? "rw" : "ro",
    request: [n === 0 ? "temperature" : "response_format"],
    subagents: { allowAgents: ["*", n % 2 === 0 ? "main" : "other"], model: `local/m${n}`, thinking },
    heartbeat,
  };
  const model = (id: string) => ({
    id,
    contextWindow: 200_000 + n,
    maxTokens: 8_000 + n,
    cost: { input: 1 + n, output: 2 + n, cacheRead: 3 + n, cacheWrite: 4 + n },
    thinking: n === 0 ? ["off", "low"] : ["off", "low", "high"],
    images: n === 1,
  });
  const compaction = {
    enabled: n === 0,
    reserveTokens: 16_000 + n,
    reserveTokensFloor: 20_000 + n,
    keepRecentTokens: 20_000 + n,
    emergencyContextLimit: 190_000 + n,
  };
  return {
    $schema: `https://example.org/${n}`,
    gateway: {
      port: 7_717 + n,
      host: n === 0 ? "127.0.0.1" : "localhost",
      tls,
      trustedProxies: [`10.0.0.${n}`],
      allowedHosts: ["127.0.0.1", `h${n}`],
      allowedOrigins: [`https://o${n}.example.org`],
      publicUrl: `https://p${n}.example.org`,
      loginDays: 30 + n,
      trustedProxy: { header: `x-user-${n}`, addresses: ["127.0.0.1", `10.0.1.${n}`] },
      limits: {
        bodyBytes: 1_000_000 + n,
        perToken: allowance(n),
        perPerson: allowance(n),
      },
    },
    models: {
      default: `local/m${n}`,
      fallbacks: [`local/m${1 - n}`],
      thinking,
      providers: {
        local: {
          api: "openai-completions",
          baseUrl: `http://127.0.0.1:${modelPort}/v${n}`,
          apiKey: { env: `K${n}` },
          apiKeys: { key0: { env: `K${n}` }, key1: { env: `K${n}` } },
          maxConcurrent: 10 + n,
          stallSeconds: 100 + n,
          models: [model("m0"), model("m1")],
        },
        program: {
          api: "cli",
          cli: {
            command: ["/bin/echo", `{"result":"r${n}"}`],
            resume: [`resume${n}`],
            output: n === 0 ? "json" : "text",
            env: [`E${n}`],
          },
        },
        // Never called: another API would need another server.
        spare: { api: n === 0 ? "openai-responses" : "anthropic-messages", baseUrl: "http://127.0.0.1:9" },
      },
    },
    // The profile without settings of its own has those of the sections.
    profiles: {
      main: profile,
      other: profile,
      plain: { tools: { allow: ["sessions_*"] } },
      acts: {},
      program: { model: "program/x", thinking: "off" },
    },
    bindings: [
      {
        profile: n === 0 ? "main" : "other",
        match: {
          channel: "chat",
          accountId: `account${n}`,
          peer: { kind: n === 0 ? "group" : "channel", id: `peer${n}` },
          guildId: `guild${n}`,
          teamId: `team${n}`,
        },
      },
    ],
    owner: { accounts: [`chat:owner${n}`] },
    people: {
      unknown: n === 0 ? "guest" : "stranger",
      records: {
        asker: { accounts: ["chat:asker"], grants: [{ ask: "current_time" }] },
        // Lets groups in even while unknown people are strangers.
        places: { accounts: ["chat:group:peer0", "chat:group:peer1", "chat:channel:peer1", "quiet:group:c1"] },
        bob: {
          name: `Bob ${n}`,
          role: n === 0 ? "guest" : "contact",
          accounts: [`chat:bob${n}`],
          grants: [
            n === 0 ? { allow: "exec", note: "first" } : { ask: "exec", note: "then" },
            n === 0 ? { ask: "read" } : { deny: "read" },
            n === 0 ? { deny: "write", when: "untrusted" } : { allow: "write" },
          ],
          limits: {
            messagesPerDay: 100_000 + n,
            tokensPerDay: 1e9 + n,
            dollarsPerDay: 100 + n,
            quietHours: `0${n}:00-0${n + 1}:00`,
          },
          timeZone: n === 0 ? "Europe/Berlin" : "Asia/Tokyo",
          language: n === 0 ? "de" : "ja",
        },
      },
    },
    session: {
      dmScope: n === 0 ? "per-peer" : "per-channel-peer",
      mainKey: `main${n}`,
      identityLinks: { ann: [`chat:ann${n}`] },
      timeZone: n === 0 ? "Europe/Berlin" : "Asia/Tokyo",
      reset: {
        ...reset(n),
        byType: { dm: reset(n), group: reset(n), thread: reset(n) },
      },
      thread: { inheritParent: n === 0 },
      sendPolicy: {
        default: n === 0 ? "deny" : "allow",
        rules: [
          {
            action: n === 0 ? "allow" : "deny",
            match: { channel: `no${n}`, chatType: n === 0 ? "group" : "room", keyPrefix: `x${n}` },
          },
        ],
      },
    },
    agentToAgent: {
      write: n === 0 ? ["tree"] : ["tree", "any"],
      read: n === 0 ? ["tree"] : ["tree", "parent"],
    },
    systemAgents: { clerk: { description: `clerk ${n}`, prompt: `file ${n}`, replacesSystemPrompt: n === 1 } },
    budgets: { agent: limit(n), tree: limit(n), profile: limit(n), person: limit(n), day: limit(n) },
    compaction: {
      ...compaction,
      memoryFlush: {
        enabled: n === 0,
        softThresholdTokens: 4_000 + n,
        prompt: `remember ${n}`,
        systemPrompt: `you remember ${n}`,
      },
    },
    commands: { api: n === 1 },
    // No server has these addresses: the account fails and disturbs nothing.
    connectors: {
      telegram: {
        ...{
          kind: n === 0 ? "telegram" : undefined,
          enabled: n === 1,
          token: { env: `K${n}` },
          apiRoot: `http://127.0.0.1:${n + 1}`,
        },
        webhook: { secret: { env: `K${n}` } },
        ...{ drafts: n === 0, reactions: n === 0 },
        ...{
          sendUrl: `https://s${n}.example.org`,
          phoneNumberId: `12${n}`,
          appSecret: { env: `K${n}` },
          readMarks: n === 0,
          linkPreviews: n === 0,
        },
        pairPhone: `491234${n}`,
        template: { name: `t${n}`, language: `en_${n}` },
        groups: { activation: n === 0 ? "mention" : "always" },
      },
    },
    queue: {
      ...queueOf(n),
      maxWaiting: 1_000 + n,
      dedupe: n === 0 ? "message-id" : "prompt",
      byChannel: { chat: queueOf(n) },
    },
    subagents: {
      maxDepth: 1 + n,
      allowAgents: ["*", n % 2 === 0 ? "main" : "other"],
      model: `local/m${n}`,
      thinking,
    },
    runs: {
      timeoutSeconds: 600 + n,
      maxIterations: 500 + n,
      maxConcurrent: 32 + n,
      restore: n === 0 ? "resume" : "discard",
      ...{ blockReplyBreak: n === 0 ? "text_end" : "message_end", enforceFinalTag: n === 0 },
    },
    cron: {
      enabled: n === 0,
      missed: n === 0 ? "once" : "all",
      commandGates: n === 1,
    },
    heartbeat,
    hooks: {
      deploy: {
        token: { env: `H${n}` },
        hmac: {
          secret: { env: `H${n}` },
          scheme: n === 0 ? "body" : "rookery",
          toleranceSeconds: 300 + n,
          header: `x-sign${n}`,
          algorithm: n === 0 ? "sha256" : "sha512",
        },
        prompt: `deployed ${n}`,
        target: n === 0 ? "isolated" : "main",
        profile: n === 0 ? "main" : "other",
        deliver: n === 0 ? "last" : "chat:ops",
        idempotencyHeader: `x-id${n}`,
      },
    },
    approvals: { expiryMinutes: 100 + n },
    files: {
      ...{
        maxBytes: 1e6 + n,
        quotaBytes: 1e8 + n,
      },
      transcriber: { url: `http://127.0.0.1:1/${n}`, model: `ears${n}`, apiKey: { env: `K${n}` } },
    },
    mailbox: {
      webhooks: {
        shop: {
          url: `http://127.0.0.1:1/${n}`,
          secret: { env: `H${n}` },
          users: [`user${n}`],
          owner: n === 1,
          profiles: [n % 2 === 0 ? "main" : "other"],
        },
      },
    },
    outbox: { maxAgeHours: 24 + n },
    store: {
      synchronous: n === 0 ? "full" : "normal",
      leaseSeconds: 10 + n,
      maxConnections: 10 + n,
      shard: `shard${n}`,
    },
    retention: { recordsDays: 30 + n, auditDays: 365 + n },
    workspaces: { maxBytes: 1_000_000 + n, shared: n === 1 },
    web: {
      search: {
        provider: n === 0 ? "searxng" : "tavily",
        url: `http://127.0.0.1:1/search${n}`,
        apiKey: { env: `K${n}` },
      },
    },
    sandbox: {
      kind: n === 0 ? "auto" : "bwrap",
      dockerImage: `image${n}`,
      domains: [`d${n}.example.org`],
      read: [`read${n}`],
      secrets: { [`S${n}`]: { env: `H${n}` } },
      diskMb: 1_000 + n,
      memoryMb: 1_000 + n,
    },
    mcp: {
      servers: {
        local: {
          enabled: n === 1,
          command: `/none/${n}`,
          args: [`a${n}`],
          env: { [`A${n}`]: { env: `B${n}` } },
          profiles: [`p${n}`],
          allow: [`x${n}*`],
          deny: [`y${n}`],
          safe: [`z${n}`],
          sandbox: n === 0,
          read: [`r${n}`],
          write: [`w${n}`],
          domains: [`m${n}.example.org`],
          sockets: n === 1,
          timeoutSeconds: 60 + n,
        },
        remote: {
          enabled: false,
          url: `https://mcp${n}.example.org/mcp`,
          headers: { [`x-a${n}`]: { env: `B${n}` } },
          oauth: n === 1,
          clientId: `c${n}`,
          clientSecret: { env: `C${n}` },
          clientMetadataUrl: `https://me${n}.example.org/client.json`,
        },
      },
    },
    permissions: permissionsOf(n),
    network: { allowPrivate: [`10.0.${n}.0/24`] },
    log: { level: n === 0 ? "info" : "debug" },
    telemetry: { enabled: n === 1 },
  };
}

/** Keys of a store that another process would open: set in the second configuration only, so that the first one starts. */
export const otherStore: Values = {
  url: { env: "OTHER" },
  shards: { east: { env: "EAST" } },
  s3: {
    endpoint: "http://127.0.0.1:9",
    bucket: "b",
    region: "r",
    prefix: "p",
    accessKeyId: { env: "A" },
    secretAccessKey: { env: "S" },
  },
};
