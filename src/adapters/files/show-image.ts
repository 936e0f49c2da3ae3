/**
 * The image that a model is shown of an image file, scaled down to what every provider takes. The work is done on threads of the
 * image library. An image with too many pixels is refused from its header, before any of it is unpacked.
 */
import type { ShownContent } from "../../core/ports/file-inspector.ts";

/** More would need hundreds of megabytes of memory to unpack. */
const MAX_PIXELS = 50_000_000;
/** The smallest limit of a provider is 5 MB in base64. */
const MAX_BYTES = 3_500_000;
const QUALITIES = [85, 60, 35] as const;
const TIMEOUT_SECONDS = 20;

/** What every provider takes as it is. */
const PLAIN: readonly string[] = ["image/png", "image/jpeg", "image/webp"];

/** What this program unpacks. Other forms, such as SVG and PDF, are documents that may contain anything. */
export const IMAGE_TYPES: readonly string[] = [...PLAIN, "image/gif", "image/avif", "image/tiff"];

/** Must not throw: an image that cannot be shown is a reference. */
export async function shownImage(data: Uint8Array, mimeType: string, side: number): Promise<ShownContent> {
  try {
    return await scaled(data, mimeType, side);
  } catch {
    return { as: "reference", why: "The image cannot be read, or it has too many pixels." };
  }
}

async function scaled(data: Uint8Array, mimeType: string, side: number): Promise<ShownContent> {
  const { default: sharp } = await import("sharp");
  sharp.concurrency(1);
  const open = () => sharp(data, { limitInputPixels: MAX_PIXELS, failOn: "error", animated: false, pages: 1 });
  const { width = 0, height = 0, orientation = 1, hasAlpha = false } = await open().metadata();
  const fits = Math.max(width, height) <= side && data.length <= MAX_BYTES && orientation <= 1;
  if (fits && PLAIN.includes(mimeType)) {
    // A header says nothing about the rest: an image that no one can read would make each later call of the model fail.
    await open().resize(8, 8, { fit: "inside" }).timeout({ seconds: TIMEOUT_SECONDS }).raw().toBuffer();
    return { as: "image", mimeType };
  }
  const small = () =>
    open()
      .autoOrient()
      .resize(side, side, { fit: "inside", withoutEnlargement: true })
      .timeout({ seconds: TIMEOUT_SECONDS });
  if (hasAlpha || mimeType === "image/png" || mimeType === "image/gif") {
    const png = await small().png({ compressionLevel: 9 }).toBuffer();
    if (png.length <= MAX_BYTES) return { as: "image", mimeType: "image/png", data: png };
  }
  for (const quality of QUALITIES) {
    const jpeg = await small().flatten({ background: "#ffffff" }).jpeg({ quality }).toBuffer();
    if (jpeg.length <= MAX_BYTES) return { as: "image", mimeType: "image/jpeg", data: jpeg };
  }
  return { as: "reference", why: "The image is too large to be shown." };
}
