//! Checks of origins that their schema cannot express.

use super::{Origin, OriginGroup};
use crate::validation::Violations;

/// Reports origins and groups that AWS would reject.
pub(in crate::services::cloudfront) fn check(
    origins: &[Origin],
    groups: &[OriginGroup],
    violations: &mut Violations,
) {
    violations.add_if(
        origins.is_empty(),
        "/origins",
        "a distribution has at least one origin",
    );
    for (index, origin) in origins.iter().enumerate() {
        let at = format!("/origins/{index}");
        let types = [
            origin.s3_origin.is_some(),
            origin.custom_origin.is_some(),
            origin.vpc_origin.is_some(),
        ];
        violations.add_if(
            types.into_iter().filter(|given| *given).count() != 1,
            &at,
            "an origin has one of s3Origin, customOrigin and vpcOrigin",
        );
        violations.add_if(
            origins[..index].iter().any(|other| other.id == origin.id),
            format!("{at}/id"),
            format!("two origins are called {:?}", origin.id),
        );
        violations.add_if(
            origin
                .origin_shield
                .as_ref()
                .is_some_and(|shield| shield.enabled != shield.region.is_some()),
            format!("{at}/originShield/region"),
            "an origin shield has a region if it is enabled, and none if it is not",
        );
    }
    for (index, group) in groups.iter().enumerate() {
        for (position, id) in group.origin_ids.iter().enumerate() {
            violations.add_if(
                !origins.iter().any(|origin| origin.id == *id),
                format!("/originGroups/{index}/originIds/{position}"),
                format!("there is no origin {id:?}"),
            );
        }
    }
}
