//! Origins as AWS has them.

use aws_sdk_cloudfront::types as aws;

use super::{CustomHeader, CustomOrigin, Origin, OriginGroup, OriginShield, S3Origin, VpcOrigin};
use crate::cloudfront::lists::{Built, items, members, put, put_text, quantity, text};

/// The wished origins over those that are there.
pub(in crate::cloudfront) fn origins_over(
    there: Option<aws::Origins>,
    wish: &[Origin],
) -> Built<aws::Origins> {
    let there = there.map(|origins| origins.items).unwrap_or_default();
    let new = |wish: &Origin| {
        aws::Origin::builder()
            .id(&wish.id)
            .domain_name(&wish.domain_name)
            .build()
    };
    let items = items(wish, there, |wish, origin| wish.id == origin.id, new, over)?;
    aws::Origins::builder()
        .quantity(quantity(&items))
        .set_items(Some(items))
        .build()
}

fn over(wish: &Origin, origin: &mut aws::Origin) -> Built<()> {
    origin.domain_name.clone_from(&wish.domain_name);
    put_text(&mut origin.origin_path, wish.origin_path.as_ref());
    put_text(
        &mut origin.origin_access_control_id,
        wish.origin_access_control_id.as_ref(),
    );
    put(&mut origin.connection_attempts, wish.connection_attempts);
    put(&mut origin.connection_timeout, wish.connection_timeout_seconds);
    put(
        &mut origin.response_completion_timeout,
        wish.response_completion_timeout_seconds,
    );
    if let Some(headers) = &wish.custom_headers {
        origin.custom_headers = Some(headers_over(origin.custom_headers.take(), headers)?);
    }
    if let Some(shield) = &wish.origin_shield {
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
    sort_over(wish, origin)
}

/// The wished sort of origin takes the place of any other.
fn sort_over(wish: &Origin, origin: &mut aws::Origin) -> Built<()> {
    if let Some(wish) = &wish.s3_origin {
        (origin.custom_origin_config, origin.vpc_origin_config) = (None, None);
        let mut config = match origin.s3_origin_config.take() {
            Some(config) => config,
            None => aws::S3OriginConfig::builder().origin_access_identity("").build(),
        };
        if let Some(identity) = &wish.origin_access_identity {
            config.origin_access_identity.clone_from(identity);
        }
        put(&mut config.origin_read_timeout, wish.read_timeout_seconds);
        origin.s3_origin_config = Some(config);
    } else if let Some(wish) = &wish.custom_origin {
        (origin.s3_origin_config, origin.vpc_origin_config) = (None, None);
        origin.custom_origin_config = Some(custom_over(origin.custom_origin_config.take(), wish)?);
    } else if let Some(wish) = &wish.vpc_origin {
        (origin.s3_origin_config, origin.custom_origin_config) = (None, None);
        let mut config = match origin.vpc_origin_config.take() {
            Some(config) => config,
            None => aws::VpcOriginConfig::builder()
                .vpc_origin_id(&wish.vpc_origin_id)
                .build()?,
        };
        config.vpc_origin_id.clone_from(&wish.vpc_origin_id);
        put(&mut config.origin_read_timeout, wish.read_timeout_seconds);
        put(
            &mut config.origin_keepalive_timeout,
            wish.keepalive_timeout_seconds,
        );
        origin.vpc_origin_config = Some(config);
    }
    Ok(())
}

fn custom_over(
    there: Option<aws::CustomOriginConfig>,
    wish: &CustomOrigin,
) -> Built<aws::CustomOriginConfig> {
    let policy = aws::OriginProtocolPolicy::from(wish.origin_protocol_policy.as_str());
    let mut config = match there {
        Some(config) => config,
        None => aws::CustomOriginConfig::builder()
            .http_port(80)
            .https_port(443)
            .origin_protocol_policy(policy.clone())
            .origin_ssl_protocols(protocols(vec![aws::SslProtocol::TlSv12])?)
            .build()?,
    };
    config.origin_protocol_policy = policy;
    config.http_port = wish.http_port.unwrap_or(config.http_port);
    config.https_port = wish.https_port.unwrap_or(config.https_port);
    if let Some(wish) = &wish.origin_ssl_protocols {
        let there = config
            .origin_ssl_protocols
            .take()
            .map(|list| list.items)
            .unwrap_or_default();
        let wish = wish
            .iter()
            .map(|name| aws::SslProtocol::from(name.as_str()))
            .collect();
        config.origin_ssl_protocols = Some(protocols(members(wish, there))?);
    }
    put(&mut config.origin_read_timeout, wish.read_timeout_seconds);
    put(
        &mut config.origin_keepalive_timeout,
        wish.keepalive_timeout_seconds,
    );
    Ok(config)
}

fn protocols(items: Vec<aws::SslProtocol>) -> Built<aws::OriginSslProtocols> {
    aws::OriginSslProtocols::builder()
        .quantity(quantity(&items))
        .set_items(Some(items))
        .build()
}

fn headers_over(there: Option<aws::CustomHeaders>, wish: &[CustomHeader]) -> Built<aws::CustomHeaders> {
    let there = there.and_then(|headers| headers.items).unwrap_or_default();
    let items = items(
        wish,
        there,
        |wish, header| wish.name == header.header_name,
        |wish| {
            aws::OriginCustomHeader::builder()
                .header_name(&wish.name)
                .header_value(&wish.value)
                .build()
        },
        |wish, header| {
            header.header_value.clone_from(&wish.value);
            Ok(())
        },
    )?;
    aws::CustomHeaders::builder()
        .quantity(quantity(&items))
        .set_items(Some(items))
        .build()
}

/// What was found, in the shape of the wish.
pub(in crate::cloudfront) fn origins(found: &[aws::Origin]) -> Vec<Origin> {
    found
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

fn headers(found: Option<&aws::CustomHeaders>) -> Vec<CustomHeader> {
    let items = found.map(aws::CustomHeaders::items).unwrap_or_default();
    items
        .iter()
        .map(|header| CustomHeader {
            name: header.header_name.clone(),
            value: header.header_value.clone(),
        })
        .collect()
}

/// The wished groups over those that are there.
pub(in crate::cloudfront) fn groups_over(
    there: Option<aws::OriginGroups>,
    wish: &[OriginGroup],
) -> Built<aws::OriginGroups> {
    let there = there.and_then(|groups| groups.items).unwrap_or_default();
    let new = |wish: &OriginGroup| {
        aws::OriginGroup::builder()
            .id(&wish.id)
            .failover_criteria(criteria(wish.failover_status_codes.clone())?)
            .members(group_members(&wish.origin_ids)?)
            .build()
    };
    let change = |wish: &OriginGroup, group: &mut aws::OriginGroup| {
        let there = group
            .failover_criteria
            .take()
            .and_then(|criteria| criteria.status_codes);
        let there = there.map(|codes| codes.items).unwrap_or_default();
        group.failover_criteria = Some(criteria(members(wish.failover_status_codes.clone(), there))?);
        group.members = Some(group_members(&wish.origin_ids)?);
        Ok(())
    };
    let items = items(wish, there, |wish, group| wish.id == group.id, new, change)?;
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

/// What was found, in the shape of the wish.
pub(in crate::cloudfront) fn groups(found: Option<&aws::OriginGroups>) -> Vec<OriginGroup> {
    let items = found.map(aws::OriginGroups::items).unwrap_or_default();
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
