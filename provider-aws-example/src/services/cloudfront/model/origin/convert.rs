//! Origins in the types of the API.

use aws_sdk_cloudfront::types as aws;

use super::{CustomHeader, CustomOrigin, Origin, OriginGroup, OriginShield, S3Origin, VpcOrigin};
use crate::services::cloudfront::model::lists::{Built, items, members, put, put_text, quantity, text};

/// The desired origins, each with the values of the current one of its id.
pub(in crate::services::cloudfront) fn origins_over(
    current: Option<aws::Origins>,
    desired: &[Origin],
) -> Built<aws::Origins> {
    let current = current.map(|origins| origins.items).unwrap_or_default();
    let new = |desired: &Origin| {
        aws::Origin::builder()
            .id(&desired.id)
            .domain_name(&desired.domain_name)
            .build()
    };
    let items = items(
        desired,
        current,
        |desired, origin| desired.id == origin.id,
        new,
        merge,
    )?;
    aws::Origins::builder()
        .quantity(quantity(&items))
        .set_items(Some(items))
        .build()
}

fn merge(desired: &Origin, origin: &mut aws::Origin) -> Built<()> {
    origin.domain_name.clone_from(&desired.domain_name);
    put_text(&mut origin.origin_path, desired.origin_path.as_ref());
    put_text(
        &mut origin.origin_access_control_id,
        desired.origin_access_control_id.as_ref(),
    );
    put(&mut origin.connection_attempts, desired.connection_attempts);
    put(&mut origin.connection_timeout, desired.connection_timeout_seconds);
    put(
        &mut origin.response_completion_timeout,
        desired.response_completion_timeout_seconds,
    );
    if let Some(headers) = &desired.custom_headers {
        origin.custom_headers = Some(headers_over(origin.custom_headers.take(), headers)?);
    }
    if let Some(shield) = &desired.origin_shield {
        let known = origin
            .origin_shield
            .take()
            .and_then(|shield| shield.origin_shield_region);
        // AWS keeps no region of a shield that is off.
        let region = shield.region.clone().or(known).filter(|_| shield.enabled);
        let shield = aws::OriginShield::builder()
            .enabled(shield.enabled)
            .set_origin_shield_region(region);
        origin.origin_shield = Some(shield.build()?);
    }
    merge_type(desired, origin)
}

/// Sets the desired type of origin, which replaces any other.
fn merge_type(desired: &Origin, origin: &mut aws::Origin) -> Built<()> {
    if let Some(desired) = &desired.s3_origin {
        (origin.custom_origin_config, origin.vpc_origin_config) = (None, None);
        let mut config = match origin.s3_origin_config.take() {
            Some(config) => config,
            None => aws::S3OriginConfig::builder().origin_access_identity("").build(),
        };
        if let Some(identity) = &desired.origin_access_identity {
            config.origin_access_identity.clone_from(identity);
        }
        put(&mut config.origin_read_timeout, desired.read_timeout_seconds);
        origin.s3_origin_config = Some(config);
    } else if let Some(desired) = &desired.custom_origin {
        (origin.s3_origin_config, origin.vpc_origin_config) = (None, None);
        origin.custom_origin_config = Some(custom_over(origin.custom_origin_config.take(), desired)?);
    } else if let Some(desired) = &desired.vpc_origin {
        (origin.s3_origin_config, origin.custom_origin_config) = (None, None);
        let mut config = match origin.vpc_origin_config.take() {
            Some(config) => config,
            None => aws::VpcOriginConfig::builder()
                .vpc_origin_id(&desired.vpc_origin_id)
                .build()?,
        };
        config.vpc_origin_id.clone_from(&desired.vpc_origin_id);
        put(&mut config.origin_read_timeout, desired.read_timeout_seconds);
        put(
            &mut config.origin_keepalive_timeout,
            desired.keepalive_timeout_seconds,
        );
        origin.vpc_origin_config = Some(config);
    }
    Ok(())
}

fn custom_over(
    current: Option<aws::CustomOriginConfig>,
    desired: &CustomOrigin,
) -> Built<aws::CustomOriginConfig> {
    let policy = aws::OriginProtocolPolicy::from(desired.origin_protocol_policy.as_str());
    let mut config = match current {
        Some(config) => config,
        None => aws::CustomOriginConfig::builder()
            .http_port(80)
            .https_port(443)
            .origin_protocol_policy(policy.clone())
            .origin_ssl_protocols(protocols(vec![aws::SslProtocol::TlSv12])?)
            .build()?,
    };
    config.origin_protocol_policy = policy;
    config.http_port = desired.http_port.unwrap_or(config.http_port);
    config.https_port = desired.https_port.unwrap_or(config.https_port);
    if let Some(desired) = &desired.origin_ssl_protocols {
        let current = config
            .origin_ssl_protocols
            .take()
            .map(|list| list.items)
            .unwrap_or_default();
        let desired = desired
            .iter()
            .map(|name| aws::SslProtocol::from(name.as_str()))
            .collect();
        config.origin_ssl_protocols = Some(protocols(members(desired, current))?);
    }
    put(&mut config.origin_read_timeout, desired.read_timeout_seconds);
    put(
        &mut config.origin_keepalive_timeout,
        desired.keepalive_timeout_seconds,
    );
    Ok(config)
}

fn protocols(items: Vec<aws::SslProtocol>) -> Built<aws::OriginSslProtocols> {
    aws::OriginSslProtocols::builder()
        .quantity(quantity(&items))
        .set_items(Some(items))
        .build()
}

fn headers_over(current: Option<aws::CustomHeaders>, desired: &[CustomHeader]) -> Built<aws::CustomHeaders> {
    let current = current.and_then(|headers| headers.items).unwrap_or_default();
    let items = items(
        desired,
        current,
        |desired, header| desired.name == header.header_name,
        |desired| {
            aws::OriginCustomHeader::builder()
                .header_name(&desired.name)
                .header_value(&desired.value)
                .build()
        },
        |desired, header| {
            header.header_value.clone_from(&desired.value);
            Ok(())
        },
    )?;
    aws::CustomHeaders::builder()
        .quantity(quantity(&items))
        .set_items(Some(items))
        .build()
}

/// The parameters of observed origins.
pub(in crate::services::cloudfront) fn origins(observed: &[aws::Origin]) -> Vec<Origin> {
    observed
        .iter()
        .map(|origin| Origin {
            id: origin.id.clone(),
            domain_name: origin.domain_name.clone(),
            origin_path: Some(text(origin.origin_path.as_ref())),
            custom_headers: Some(headers(origin.custom_headers.as_ref())),
            s3_origin: origin.s3_origin_config.as_ref().map(|config| S3Origin {
                origin_access_identity: Some(config.origin_access_identity.clone()),
                read_timeout_seconds: config.origin_read_timeout,
            }),
            custom_origin: origin.custom_origin_config.as_ref().map(custom),
            vpc_origin: origin.vpc_origin_config.as_ref().map(|config| VpcOrigin {
                vpc_origin_id: config.vpc_origin_id.clone(),
                read_timeout_seconds: config.origin_read_timeout,
                keepalive_timeout_seconds: config.origin_keepalive_timeout,
            }),
            origin_access_control_id: Some(text(origin.origin_access_control_id.as_ref())),
            connection_attempts: origin.connection_attempts,
            connection_timeout_seconds: origin.connection_timeout,
            response_completion_timeout_seconds: origin.response_completion_timeout,
            origin_shield: Some(OriginShield {
                enabled: origin.origin_shield.as_ref().is_some_and(|shield| shield.enabled),
                region: origin
                    .origin_shield
                    .as_ref()
                    .and_then(|shield| shield.origin_shield_region.clone()),
            }),
        })
        .collect()
}

fn custom(config: &aws::CustomOriginConfig) -> CustomOrigin {
    let protocols = config.origin_ssl_protocols.as_ref();
    CustomOrigin {
        origin_protocol_policy: config.origin_protocol_policy.as_str().to_owned(),
        http_port: Some(config.http_port),
        https_port: Some(config.https_port),
        origin_ssl_protocols: protocols
            .map(|list| list.items.iter().map(|name| name.as_str().to_owned()).collect()),
        read_timeout_seconds: config.origin_read_timeout,
        keepalive_timeout_seconds: config.origin_keepalive_timeout,
    }
}

fn headers(observed: Option<&aws::CustomHeaders>) -> Vec<CustomHeader> {
    let items = observed.map(aws::CustomHeaders::items).unwrap_or_default();
    items
        .iter()
        .map(|header| CustomHeader {
            name: header.header_name.clone(),
            value: header.header_value.clone(),
        })
        .collect()
}

/// The desired groups, each with the values of the current one of its id.
pub(in crate::services::cloudfront) fn groups_over(
    current: Option<aws::OriginGroups>,
    desired: &[OriginGroup],
) -> Built<aws::OriginGroups> {
    let current = current.and_then(|groups| groups.items).unwrap_or_default();
    let new = |desired: &OriginGroup| {
        aws::OriginGroup::builder()
            .id(&desired.id)
            .failover_criteria(criteria(desired.failover_status_codes.clone())?)
            .members(group_members(&desired.origin_ids)?)
            .build()
    };
    let change = |desired: &OriginGroup, group: &mut aws::OriginGroup| {
        let current = group
            .failover_criteria
            .take()
            .and_then(|criteria| criteria.status_codes);
        let current = current.map(|codes| codes.items).unwrap_or_default();
        group.failover_criteria = Some(criteria(members(desired.failover_status_codes.clone(), current))?);
        group.members = Some(group_members(&desired.origin_ids)?);
        Ok(())
    };
    let items = items(
        desired,
        current,
        |desired, group| desired.id == group.id,
        new,
        change,
    )?;
    aws::OriginGroups::builder()
        .quantity(quantity(&items))
        .set_items(Some(items))
        .build()
}

fn criteria(codes: Vec<i32>) -> Built<aws::OriginGroupFailoverCriteria> {
    let codes = aws::StatusCodes::builder()
        .quantity(quantity(&codes))
        .set_items(Some(codes))
        .build()?;
    Ok(aws::OriginGroupFailoverCriteria::builder()
        .status_codes(codes)
        .build())
}

fn group_members(ids: &[String]) -> Built<aws::OriginGroupMembers> {
    let members: Built<Vec<_>> = ids
        .iter()
        .map(|id| aws::OriginGroupMember::builder().origin_id(id).build())
        .collect();
    aws::OriginGroupMembers::builder()
        .quantity(quantity(ids))
        .set_items(Some(members?))
        .build()
}

/// The parameters of observed groups.
pub(in crate::services::cloudfront) fn groups(observed: Option<&aws::OriginGroups>) -> Vec<OriginGroup> {
    let items = observed.map(aws::OriginGroups::items).unwrap_or_default();
    items
        .iter()
        .map(|group| {
            let codes = group
                .failover_criteria
                .as_ref()
                .and_then(|criteria| criteria.status_codes.as_ref());
            let members = group
                .members
                .as_ref()
                .map(aws::OriginGroupMembers::items)
                .unwrap_or_default();
            OriginGroup {
                id: group.id.clone(),
                failover_status_codes: codes.map(|codes| codes.items.clone()).unwrap_or_default(),
                origin_ids: members.iter().map(|member| member.origin_id.clone()).collect(),
            }
        })
        .collect()
}
