/** Small files for tests: images of any size, PDFs with a text, and files that try to do harm. */
import { deflateSync } from "node:zlib";
import sharp from "sharp";

export const pngOf = async (width: number, height: number): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background: "#2266aa" } })
    .png()
    .toBuffer();

/** Noise does not get smaller by packing. */
export const noiseOf = async (width: number, height: number): Promise<Buffer> =>
  sharp({
    create: { width, height, channels: 3, background: "#000", noise: { type: "gaussian", mean: 128, sigma: 80 } },
  })
    .png({ compressionLevel: 0 })
    .toBuffer();

/** A PNG whose header claims this size, with almost no data behind it. */
export function pngBomb(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const data = deflateSync(Buffer.alloc(1_000));
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", header),
    chunk("IDAT", data),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const sized = Buffer.alloc(4);
  sized.writeUInt32BE(data.length);
  const checked = Buffer.alloc(4);
  checked.writeUInt32BE(crc32(body));
  return Buffer.concat([sized, body, checked]);
}

function crc32(data: Buffer): number {
  let crc = ~0;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc >>> 0;
}

/** A PDF of one page. Without a text: a page with nothing on it. */
export const pdfOf = (text = ""): Buffer =>
  pdfWith(Buffer.from(text === "" ? "" : `BT /F1 12 Tf 72 720 Td (${text}) Tj ET`, "latin1"), "");

/** Its page unpacks to this many megabytes. */
export const pdfBomb = (megabytes: number): Buffer =>
  pdfWith(deflateSync(Buffer.alloc(megabytes * 1_048_576, "0 0 m "), { level: 9 }), "/Filter /FlateDecode ");

/** A PDF with the same text on each of its pages. */
export const pdfOfPages = (pages: number, text: string): Buffer =>
  pdfWith(Buffer.from(`BT /F1 12 Tf 72 720 Td (${text}) Tj ET`, "latin1"), "", pages);

function pdfWith(content: Buffer, filter: string, pages = 1): Buffer {
  const kids = Array.from({ length: pages }, (_, n) => `${n + 5} 0 R`).join(" ");
  const page = Buffer.from(
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 3 0 R /Resources << /Font << /F1 4 0 R >> >> >>",
  );
  const objects = [
    Buffer.from("<< /Type /Catalog /Pages 2 0 R >>"),
    Buffer.from(`<< /Type /Pages /Kids [${kids}] /Count ${pages} >>`),
    Buffer.concat([
      Buffer.from(`<< ${filter}/Length ${content.length} >>\nstream\n`),
      content,
      Buffer.from("\nendstream"),
    ]),
    Buffer.from("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"),
    ...Array.from({ length: pages }, () => page),
  ];
  const parts: Buffer[] = [Buffer.from("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "latin1")];
  const places: number[] = [];
  for (const [index, object] of objects.entries()) {
    places.push(parts.reduce((sum, part) => sum + part.length, 0));
    parts.push(Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from("\nendobj\n"));
  }
  const start = parts.reduce((sum, part) => sum + part.length, 0);
  const size = objects.length + 1;
  const rows = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  parts.push(Buffer.from(`xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${size} /Root 1 0 R >>\n`));
  parts.push(Buffer.from(`startxref\n${start}\n%%EOF\n`));
  return Buffer.concat(parts);
}
