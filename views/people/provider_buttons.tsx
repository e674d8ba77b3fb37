// Links to identity providers, with their marks. Google and Microsoft require theirs in its own colors.
import type { OfferedWays, ProviderKind } from "../../domain/people/identity_provider.ts";

/** The ways to sign in, and the one that this browser used last. */
export interface ProviderOffer extends OfferedWays {
  /** Its slug, or any other text. */
  readonly lastUsed: string | null;
}

/** Plain links: they work without scripts, and the policy for forms doesn't apply to them. @param props `query`: of each link. */
export function ProviderButtons(
  { providers, lastUsed, query = {} }: Pick<ProviderOffer, "providers" | "lastUsed"> & {
    query?: Readonly<Record<string, string>>;
  },
) {
  if (providers.length === 0) return null;
  const search = new URLSearchParams(query).toString();
  return (
    <>
      <div class="providers">
        {providers.map(({ slug, kind, name }) => (
          <a
            class="button plain"
            href={`/sign-in/with/${slug}${search === "" ? "" : `?${search}`}`}
            rel="nofollow"
            hx-boost="false"
          >
            <ProviderMark kind={kind} name={name} />
            <span>
              Continue with <bdi>{name}</bdi>
            </span>
            {slug === lastUsed && <span class="last-used">Last used</span>}
          </a>
        ))}
      </div>
      <p class="or">or</p>
    </>
  );
}

/** A mark of 18 px, hidden from screen readers because the name next to it says the same. */
export function ProviderMark({ kind, name }: { kind: ProviderKind; name: string }) {
  if (kind === "oidc") {
    return <span class="monogram" aria-hidden="true">{[...name.trim()][0]?.toUpperCase() ?? ""}</span>;
  }
  const { box, shapes } = marks[kind];
  return (
    <svg class="mark" width="18" height="18" viewBox={`0 0 ${box} ${box}`} aria-hidden="true">
      {shapes.map(([fill, d]) => <path fill={fill} d={d} />)}
    </svg>
  );
}

type Mark = { readonly box: number; readonly shapes: readonly (readonly [fill: string, d: string])[] };

const marks: Readonly<Record<Exclude<ProviderKind, "oidc">, Mark>> = {
  google: {
    box: 48,
    shapes: [
      [
        "#ea4335",
        "M24 9.500c3.540 0 6.710 1.220 9.210 3.600l6.850-6.850C35.900 2.380 30.470 0 24 0 14.620 0 6.510 5.380 2.560 13.220l7.980 6.190C12.430 13.720 17.740 9.500 24 9.500z",
      ],
      [
        "#4285f4",
        "M46.980 24.550c0-1.570-.150-3.090-.380-4.550H24v9.020h12.940c-.580 2.960-2.260 5.480-4.780 7.180l7.730 6c4.510-4.180 7.090-10.360 7.090-17.650z",
      ],
      [
        "#fbbc05",
        "M10.530 28.590c-.480-1.450-.760-2.990-.760-4.590s.270-3.140.760-4.590l-7.980-6.190C.920 16.460 0 20.120 0 24c0 3.880.920 7.540 2.560 10.780l7.970-6.190z",
      ],
      [
        "#34a853",
        "M24 48c6.480 0 11.930-2.130 15.890-5.810l-7.730-6c-2.150 1.450-4.920 2.300-8.160 2.300-6.260 0-11.570-4.220-13.470-9.910l-7.980 6.190C6.510 42.620 14.620 48 24 48z",
      ],
    ],
  },
  microsoft: {
    box: 21,
    shapes: [
      ["#f25022", "M0 0h10v10H0z"],
      ["#7fba00", "M11 0h10v10H11z"],
      ["#00a4ef", "M0 11h10v10H0z"],
      ["#ffb900", "M11 11h10v10H11z"],
    ],
  },
  github: {
    box: 16,
    shapes: [[
      "currentColor",
      "M8 0c4.420 0 8 3.580 8 8a8.013 8.013 0 0 1-5.450 7.590c-.400.080-.550-.170-.550-.380 0-.270.010-1.130.010-2.200 0-.750-.250-1.230-.540-1.480 1.780-.200 3.650-.880 3.650-3.950 0-.880-.310-1.590-.820-2.150.080-.200.360-1.020-.080-2.120 0 0-.670-.220-2.200.820-.640-.180-1.320-.270-2-.270-.680 0-1.360.090-2 .270-1.530-1.030-2.200-.820-2.200-.820-.440 1.100-.160 1.920-.080 2.120-.510.560-.820 1.280-.820 2.150 0 3.060 1.860 3.750 3.640 3.950-.230.200-.440.550-.510 1.070-.460.210-1.610.550-2.330-.660-.150-.240-.600-.830-1.230-.820-.670.010-.270.380.010.530.340.190.730.900.820 1.130.160.450.680 1.310 2.690.940 0 .670.010 1.300.010 1.490 0 .210-.150.450-.550.380A7.995 7.995 0 0 1 0 8c0-4.420 3.580-8 8-8Z",
    ]],
  },
};
