/** Replaces `{{field.of.the.body}}` in a text. Reads own fields only; a missing field becomes empty. */
export function fillTemplate(template: string, values: { readonly body: unknown; readonly name: string }): string {
  return template.replace(/\{\{([^{}]{0,500})\}\}/gu, (_, given: string) => {
    const path = given.trim();
    if (path === "name") return values.name;
    if (path === "body") return asText(values.body);
    return asText(valueAt(values.body, path.replace(/^body\./u, "")));
  });
}

function valueAt(value: unknown, path: string): unknown {
  let at = value;
  for (const part of path.split(/\.|\[(\d+)\]/u).filter((one) => one !== undefined && one !== "")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string, unknown>)[part];
  }
  return at;
}

const asText = (value: unknown): string =>
  value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2);
