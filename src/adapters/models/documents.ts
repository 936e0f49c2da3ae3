/**
 * Which models take documents, and the request without them. A document that a provider refuses is sent as text, so that one PDF
 * cannot make a conversation unusable.
 */
import { documentOf, withoutDocument } from "../../core/history/document-block.ts";
import type { ModelRequest } from "../../core/ports/model.ts";
import type { ProviderResult } from "./provider-call.ts";
import type { ProviderModel } from "./provider-model.ts";

/** Providers whose API takes PDFs. Others speak the same protocols and need not. */
const TAKING: Readonly<Record<string, string>> = {
  anthropic: "anthropic-messages",
  google: "google-generative-ai",
  openai: "openai-responses",
};
/** A page costs up to 3,000 tokens: a small window would be full. */
const LEAST_WINDOW = 100_000;

export const takesDocuments = ({ provider, api, images, contextWindow }: ProviderModel): boolean =>
  TAKING[provider] === api && images && contextWindow >= LEAST_WINDOW;

export const hasDocuments = ({ messages }: Pick<ModelRequest, "messages">): boolean =>
  messages.some(({ content }) => content.some((block) => documentOf(block) !== undefined));

export function withoutDocuments(request: ModelRequest): ModelRequest {
  if (!hasDocuments(request)) return request;
  const messages = request.messages.map((message) => ({ ...message, content: message.content.map(withoutDocument) }));
  return { ...request, messages };
}

/** Whether the provider refused the request as it was, which the documents may have caused. */
export const isRefused = ({ error, status }: Pick<ProviderResult, "error" | "status">): boolean =>
  error?.class === "overflow" || (error?.class === "request" && (status === undefined || status >= 400));
