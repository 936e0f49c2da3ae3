/** Any text, also half characters and control characters. The unit `binary` of fast-check has the same, and takes a second to make. */
import fc from "fast-check";

const sign = fc
  .oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code));

export const anyText = (given: { readonly minLength?: number; readonly maxLength?: number } = {}) =>
  fc.array(sign, given).map((signs) => signs.join(""));
