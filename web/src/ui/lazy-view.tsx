/** A view whose code is loaded when it is first shown. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Problem, Skeleton } from "./parts.tsx";

export type Loader = () => Promise<ComponentType>;

const loaded = new Map<Loader, ComponentType>();

/** Begins to load a view before it is shown. The view shows the error if this fails. */
export function preload(load: Loader | undefined): void {
  void load?.().then(
    (view) => loaded.set(load, view),
    () => undefined,
  );
}

export function LazyView({ load }: { load: Loader }) {
  const [state, setState] = useState<{ View?: ComponentType; error?: unknown; tries: number }>({
    View: loaded.get(load),
    tries: 0,
  });
  const { View, error, tries } = state;
  useEffect(() => {
    if (View) return;
    load().then(
      (view) => {
        loaded.set(load, view);
        setState({ View: view, tries });
      },
      (problem) => setState({ error: problem, tries }),
    );
  }, [load, tries]);
  if (View) return <View />;
  return error === undefined ? <Skeleton /> : <Problem error={error} retry={() => setState({ tries: tries + 1 })} />;
}
