/** Who an agent speaks as. The profile `main` is there even if nobody writes it down. */
import { named, section, text } from "../values.ts";

const profileSchema = section({
  model: text('a model as "provider/id"').optional(),
  prompt: text("the text of a prompt").optional(),
  workspace: text("the path of a directory").optional(),
});

export const profilesSchema = named(profileSchema).prefault({});
