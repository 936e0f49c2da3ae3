/** An image that the history itself holds. It becomes an address of this page, so that no other server is asked. */
import { useEffect, useState } from "preact/hooks";
import { t } from "../texts.ts";

const TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const MOST = 12_000_000;

export function OwnImage({ data, type }: { data: string; type: string }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!TYPES.includes(type) || data.length > MOST) return undefined;
    const made = addressOf(data, type);
    setUrl(made);
    return () => made && URL.revokeObjectURL(made);
  }, [data, type]);
  return url === undefined ? (
    <span class="blocked-image">[{type || t.common.unknown}]</span>
  ) : (
    <img class="image" src={url} alt={t.files.image} />
  );
}

function addressOf(data: string, type: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
    return URL.createObjectURL(new Blob([bytes], { type }));
  } catch {
    return undefined;
  }
}
