//! Partitions of AWS: commercial, China, US government.

/// A part of AWS with ARNs, endpoints and accounts of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Partition {
    /// The partition's name in ARNs: `aws`, `aws-cn`.
    pub(crate) name: &'static str,
    /// Domain of its endpoints.
    pub(crate) domain: &'static str,
    /// The region that signatures for its global services name.
    pub(crate) home: &'static str,
}

impl Partition {
    /// The partition that a region belongs to.
    pub(crate) fn of(region: &str) -> Self {
        if region.starts_with("cn-") {
            Self {
                name: "aws-cn",
                domain: "amazonaws.com.cn",
                home: "cn-northwest-1",
            }
        } else if region.starts_with("us-gov-") {
            Self {
                name: "aws-us-gov",
                domain: "amazonaws.com",
                home: "us-gov-west-1",
            }
        } else {
            Self {
                name: "aws",
                domain: "amazonaws.com",
                home: "us-east-1",
            }
        }
    }

    /// Base URL of a regional service.
    pub(crate) fn endpoint(self, service: &str, region: &str) -> String {
        format!("https://{service}.{region}.{}", self.domain)
    }
}

#[cfg(test)]
mod tests {
    use super::Partition;

    #[test]
    fn endpoints_are_those_of_the_partition() {
        let sqs = |region: &str| Partition::of(region).endpoint("sqs", region);
        assert_eq!(sqs("eu-west-1"), "https://sqs.eu-west-1.amazonaws.com");
        assert_eq!(sqs("cn-north-1"), "https://sqs.cn-north-1.amazonaws.com.cn");
        assert_eq!(sqs("us-gov-west-1"), "https://sqs.us-gov-west-1.amazonaws.com");
    }
}
