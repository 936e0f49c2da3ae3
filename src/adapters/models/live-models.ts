/** The models of a node, put together anew when their configuration changes. Calls under way end with what they began with. */
import { type ModelsOptions, type OpenModels, openModels } from "./open-models.ts";

export interface LiveModels extends OpenModels {
  renew(): void;
}

export function openLiveModels(options: ModelsOptions): LiveModels {
  let models = openModels(options);
  return {
    model: {
      call: (request, signal, onEvent) => models.model.call(request, signal, onEvent),
      price: async (choice) => models.model.price?.(choice),
    },
    get providers() {
      return models.providers;
    },
    choose: (agent, wishes) => models.choose(agent, wishes),
    detect: () => models.detect(),
    renew() {
      models = openModels(options);
    },
  };
}
