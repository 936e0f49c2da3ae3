/** Every check of `rookery doctor` and `GET /api/doctor`. */
import { CHECKS } from "../../operations/doctor/all-checks.ts";
import type { DoctorCheck } from "../../operations/doctor/check.ts";
import { tokensCheck } from "./tokens-check.ts";

export const DOCTOR_CHECKS: readonly DoctorCheck[] = [...CHECKS, tokensCheck];
