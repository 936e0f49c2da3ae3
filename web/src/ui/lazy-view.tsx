/** A view whose code is loaded when it is first shown. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { connection } from "../live.ts";
import { t } from "../texts.ts";
import { Button, Empty, Skeleton } from "./parts.tsx";

export type Loader = () => Promise<ComponentType>;

const loaded = new Map<Loader, ComponentType>();

/** Begins to load a view before it is shown. The view shows the error if this fails. */
export function preload(load: Loader | undefined): void {
  void load?.().then(
    (view) => loaded.set(load, view),
    () => undefined,
  );
}

/** While the engine is away it loads again by itself. Otherwise the page is older than the engine, and its parts are gone. */
export function LazyView({ load }: { load: Loader }) {
  const [state, setState] = useState<{ View?: ComponentType; isFailed?: boolean }>({ View: loaded.get(load) });
  const { View, isFailed = false } = state;
  const isAway = connection.value !== "live";
  useEffect(() => {
    let isGone = false;
    const show = (next: typeof state): void => {
      if (!isGone) setState(next);
    };
    if (!View && !(isFailed && isAway)) {
      load().then(
        (view) => {
          loaded.set(load, view);
          show({ View: view });
        },
        () => show({ isFailed: true }),
      );
    }
    return () => {
      isGone = true;
    };
  }, [load, isFailed && isAway]);
  if (View) return <View />;
  if (!isFailed) return <Skeleton />;
  return isAway ? (
    <p class="calm" role="status">
      {t.common.chunkAway}
    </p>
  ) : (
    <Empty icon="retry" title={t.common.chunkLost}>
      <Button kind="primary" onClick={() => location.reload()}>
        {t.common.reload}
      </Button>
    </Empty>
  );
}
