// The page of the API: what it is about, how to prove who one is, every operation by group, every error. It needs no script.
// deno-lint-ignore-file jsx-key -- pages are rendered once, as text: keys would only become attributes
import { Card } from "../components/card.tsx";
import { type DocsContent, type DocsGroup, Example, Fields, Operation, Prose } from "./docs_operation.tsx";
import { Brand } from "../components/icon.tsx";
import { type Assets, IndexedPage, type Page } from "../layout.tsx";

/** @returns The page. */
export function docsPage({ assets, content }: { assets: Assets; content: DocsContent }): Page {
  return (
    <IndexedPage title="API" assets={assets} index={<Index groups={content.groups} />}>
      <div class="head">
        <h1>API</h1>
        {content.introduction.map((text) => (
          <p>
            <Prose text={text} />
          </p>
        ))}
        <p>
          Version {content.version}. The same for machines: <a href="/api/openapi.json">/api/openapi.json</a>
          {" "}
          (OpenAPI 3.1), from which clients can be made in most languages.
        </p>
      </div>
      <section class="docs-group" id="ways" aria-labelledby="ways-title">
        <h2 id="ways-title">Who you are</h2>
        <Card title="How requests say it">
          <dl class="docs-fields">
            {content.ways.map(({ name, description }) => (
              <div>
                <dt>{name}</dt>
                <dd>
                  <Prose text={description} />
                </dd>
              </div>
            ))}
          </dl>
        </Card>
      </section>
      {content.groups.map((group) => (
        <section class="docs-group" id={group.id} aria-labelledby={`${group.id}-title`}>
          <div class="head">
            <h2 id={`${group.id}-title`}>{group.name}</h2>
            <p class="muted">
              <Prose text={group.description} />
            </p>
          </div>
          {group.operations.map((operation) => <Operation operation={operation} />)}
        </section>
      ))}
      <section class="docs-group" id="errors" aria-labelledby="errors-title">
        <div class="head">
          <h2 id="errors-title">Errors</h2>
          <p class="muted">Every error by its code, with its status.</p>
        </div>
        <Card title="How an error looks">
          <Fields fields={content.error.fields} />
          <Example body={content.error} label="an error" />
        </Card>
        <section class="card">
          <div class="body">
            <dl class="docs-fields">
              {content.errors.map(({ code, status, when }) => (
                <div id={`error-${code}`}>
                  <dt>
                    <code>{code}</code> <span class="muted small">{status}</span>
                  </dt>
                  <dd>
                    <Prose text={when} />
                  </dd>
                </div>
              ))}
            </dl>
          </div>
        </section>
      </section>
    </IndexedPage>
  );
}

function Index({ groups }: { groups: readonly DocsGroup[] }) {
  return (
    <header class="side docs-side">
      <div class="top">
        <Brand href="/portal" />
      </div>
      <nav aria-label="Contents">
        <a href="#ways">Who you are</a>
        {groups.map((group) => (
          <>
            <a href={`#${group.id}`}>{group.name}</a>
            <ul>
              {group.operations.map(({ id, summary }) => (
                <li>
                  <a href={`#${id}`}>{summary}</a>
                </li>
              ))}
            </ul>
          </>
        ))}
        <a href="#errors">Errors</a>
      </nav>
    </header>
  );
}
