/** A list in all its states: loading, a problem, empty, rows, and more rows on request. */
import type { ComponentChildren } from "preact";
import type { Paged, Query } from "../query.ts";
import type { IconName } from "./icons.tsx";
import { Empty, Loaded, More, Rows } from "./parts.tsx";

interface ListProps<T> {
  readonly label: string;
  /** The text of an empty list inside a view. */
  readonly none?: ComponentChildren;
  /** An empty list that is the whole view: a picture with a title and what to do. */
  readonly empty?: readonly [IconName, string, ComponentChildren?];
  readonly rows?: number;
  /** One row, with its key. */
  readonly children: (item: T) => ComponentChildren;
}

function Items<T>({ items, label, none, empty, children }: ListProps<T> & { items: readonly T[] }) {
  if (items.length > 0) return <Rows label={label}>{items.map(children)}</Rows>;
  if (!empty) return <p class="calm">{none}</p>;
  const [icon, title, text] = empty;
  return (
    <Empty icon={icon} title={title}>
      {text && <p>{text}</p>}
    </Empty>
  );
}

/** A list that grows by pages. */
export function PagedList<T>({ list, ...props }: ListProps<T> & { list: Paged<T> }) {
  return (
    <>
      <Loaded query={list} rows={props.rows}>
        {(items) => <Items items={items} {...props} />}
      </Loaded>
      <More list={list} />
    </>
  );
}

/** A list that is read whole. */
export function List<T>({ query, ...props }: ListProps<T> & { query: Query<{ readonly items: readonly T[] }> }) {
  return (
    <Loaded query={query} rows={props.rows}>
      {({ items }) => <Items items={items} {...props} />}
    </Loaded>
  );
}
